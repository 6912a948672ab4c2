"""One measurement of the lake in a process of its own: prints a line of JSON for each stage, and one for the whole."""

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pyspark
from pyspark.sql import functions as f

from shared.gc_tuning import tune_gc
from shared.openlineage.decoding import decode
from shared.openlineage.merging import merge
from shared.translation.run.application import RunContext, application_facts_of
from shared.translation.run.datasets import Datasets, schemas_in
from shared.translation.run.translate import lifecycle_events_in, translate
from throughline.lake.bronze.decoded_events import kept
from throughline.lake.bronze.ingestion import ingest
from throughline.lake.engine.opening import opened
from throughline.lake.engine.session import Local
from throughline.lake.gold.column_index import Columns
from throughline.lake.gold.impact import impact
from throughline.lake.pipeline import Order, Stage, run
from throughline.lake.silver.run_merging import merged_runs, touched_runs
from throughline.lake.silver.translation import translated
from throughline.lake.silver.translation_cache import MAX_CACHED_BYTES
from throughline.lake.tables.lake import Lake
from throughline.lake.tables.schemas import EVENTS, LAKE
from throughline.local.toolchain.versions import SPARK_3, SPARK_4


def main() -> None:
    """Measure one thing."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["run", "rows", "commits", "translation", "impact"])
    parser.add_argument("source")
    parser.add_argument("root")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--memory", default="2g")
    parser.add_argument("--engine", choices=["spark", "sail"], default="spark")
    options = parser.parse_args()
    platform = SPARK_4 if pyspark.__version__.startswith("4") else SPARK_3
    scratch = str(Path(options.root).parent / "scratch")
    session_options = Local(
        cores=options.cores, memory=options.memory, delta_package=platform.delta_package, scratch=scratch
    )
    measures = {"run": _run, "rows": _rows, "commits": _commits, "translation": _translation, "impact": _impact}
    began = time.monotonic()
    with opened(session_options, options.engine) as session:
        start = time.monotonic() - began
        figures = measures[options.what](Lake.at(session, options.root), options.source)
        sys.stdout.write(json.dumps({**figures, "session": round(start, 2)}) + "\n")
        sys.stdout.flush()


def _run(lake: Lake, source: str) -> dict[str, Any]:
    began = time.monotonic()
    stages = run(lake, Order(sources=(source,)), note=_note)
    return {
        "seconds": round(time.monotonic() - began, 2),
        "stages": {stage.name: round(stage.seconds, 2) for stage in stages},
        "counts": {stage.name: stage.counts for stage in stages},
    }


def _note(stage: Stage) -> None:
    line = {"stage": stage.name, "seconds": round(stage.seconds, 2), "counts": stage.counts}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _rows(lake: Lake, source: str) -> dict[str, Any]:
    """Return a row of each table of the lake at `source`, for `commits` to append."""
    source_lake = Lake.at(lake.session, source)
    tables = [table for table in LAKE if source_lake.exists(table)]
    for table in tables:
        source_lake.read(table).limit(1).write.format("delta").save(f"{lake.root}/{table.place}")
    return {"tables": len(tables)}


def _commits(lake: Lake, source: str) -> dict[str, Any]:
    """After a run without new events on the lake at `source`, commit one row to each table of this lake."""
    began = time.monotonic()
    run(Lake.at(lake.session, source), Order(sources=()))
    empty = time.monotonic() - began
    tables = [table for table in LAKE if lake.exists(table)]
    began = time.monotonic()
    for table in tables:
        row = lake.session.createDataFrame(lake.read(table).collect()[:1], table.struct())
        row.write.format("delta").mode("append").save(f"{lake.root}/{table.place}")
    return {"tables": len(tables), "empty": round(empty, 2), "seconds": round(time.monotonic() - began, 2)}


def _translation(lake: Lake, source: str) -> dict[str, Any]:
    """Measure merging and translating by silver, without writing, against the core in this process; best of three each.

    `strangers`: silver without its cache of runs. `decoding`: the part of the core's work that bronze has done
    before, measured here in a loop; all ratios except `ratio_of_silver` include it. `handed`: the engine only reads
    the same events and hands them to Python. `workers`: the CPU time of Spark's Python workers, including the
    conversion of rows from and to Arrow.
    """
    ingest(lake, [source], batch=1)
    handed = _best(lambda: _handed(lake))
    workers: list[float] = []

    def silver(remembered: int) -> None:
        python = _python_seconds()
        _merged_and_translated(lake, remembered)
        workers.append(_python_seconds() - python)

    strangers = _best(lambda: silver(0))
    workers.clear()
    silver_seconds = _best(lambda: silver(MAX_CACHED_BYTES))
    rows = lake.read(EVENTS).where("not late and ignored is null").orderBy("run_id", "event_time")
    texts = [(row["run_id"], row["text"].encode()) for row in rows.select("run_id", "text").toLocalIterator()]
    tune_gc()
    computing = time.process_time()
    core_seconds = _best(lambda: _bare(texts))
    computing = (time.process_time() - computing) / _TIMES
    decoding = _best(lambda: _decoded(texts))
    python = min(workers) and min(workers) + decoding
    return {
        "events": len(texts),
        "runs": len({run_id for run_id, _ in texts}),
        "silver": round(silver_seconds, 2),
        "strangers": round(strangers, 2),
        "decoding": round(decoding, 2),
        "handed": round(handed, 2),
        "core": round(core_seconds, 2),
        "ratio": round(core_seconds / (silver_seconds + decoding), 3),
        "ratio_of_strangers": round(core_seconds / (strangers + decoding), 3),
        "ratio_of_silver": round(core_seconds / silver_seconds, 3),
        **({"workers": round(python, 2), "ratio_of_workers": round(computing / python, 3)} if python else {}),
        "goal": ">= 0.6",
    }


_TIMES = 3


def _best(work: Callable[[], object]) -> float:
    """The seconds of the fastest of `_TIMES` repetitions."""
    seconds = []
    for _ in range(_TIMES):
        began = time.monotonic()
        work()
        seconds.append(time.monotonic() - began)
    return min(seconds)


def _merged_and_translated(lake: Lake, remembered: int) -> None:
    with lake.kept("touched", touched_runs(lake, 0)) as ids:  # noqa: SIM117 - the second needs the first
        with lake.kept("merged", merged_runs(lake, ids, 0, [])) as runs:
            contributions = translated(lake.engine, runs, None, as_of=None, end_timeout=_NEVER, cached=remembered)
            contributions.agg(f.count("*"), f.sum(f.size("contributions"))).collect()


def _python_seconds() -> float:
    """CPU seconds of Spark's Python workers so far, including those that have ended; 0 on Sail, which has none.

    A daemon forks them.
    """
    total = 0.0
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has ended: its parent's times include its own
            if "throughline.lake.worker_daemon" in process.cmdline():
                times = process.cpu_times()
                total += times.user + times.system + times.children_user + times.children_system
    return total


def _handed(lake: Lake) -> None:
    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"rows": [batch.num_rows]})

    lake.read(EVENTS).select("run_id", "decoded").mapInArrow(count, "rows bigint").agg(f.sum("rows")).collect()


_NEVER = pd.Timedelta(days=1).to_pytimedelta()


def _decoded(texts: list[tuple[str, bytes]]) -> None:
    for _, text in texts:
        kept(decode(text))


def _bare(texts: list[tuple[str, bytes]]) -> None:
    """Do the core's work for the lake, run by run."""
    run_events: list[Any] = []
    last = ""
    for run_id, text in [*texts, ("", b"")]:
        if run_id != last and run_events:
            merged_event = merge(run_events)
            run_context = RunContext(facts=application_facts_of(merged_event))
            counts = merged_event.ended == "COMPLETE" and (merged_event.inputs or merged_event.outputs)
            datasets = Datasets.of(merged_event, run_context) if counts else None
            translate(merged_event, run_context, datasets=datasets)
            lifecycle_events_in(merged_event, run_context)
            if datasets:
                schemas_in(datasets)
            run_events = []
        if text:
            run_events.append(decode(text))
        last = run_id


def _impact(lake: Lake, edges: str) -> dict[str, Any]:
    """Measure impact on ten layers of tables of 20 columns, one source a column on average, and some cycles."""
    count = int(edges)
    draw = np.random.default_rng(1)
    layers, width = 10, 20
    tables = count // (layers * width) + 1
    rows = []
    for layer in range(layers):
        for _ in range(count // layers):
            table = int(draw.integers(tables))
            back = 0 if layer == layers - 1 and not draw.integers(1_000) else layer + 1
            near = min(tables - 1, max(0, table + int(draw.integers(-1, 2))))
            rows.append(
                (f"l{layer}/t{near}", f"c{draw.integers(width)}", f"l{back}/t{table}", f"c{draw.integers(width)}")
            )
    frame = pd.DataFrame(rows, columns=["input", "input_column", "output", "output_column"]).drop_duplicates()
    frame = frame.assign(direct=True, masked=False, opaque=False, process="p")
    began = time.monotonic()
    known_columns = Columns.of(frame)
    numbered = time.monotonic() - began
    pairs = impact(lake, known_columns).agg(f.count("*"), f.max("depth")).head()
    total_seconds = time.monotonic() - began
    return {
        "edges": len(frame),
        "pairs": pairs[0] if pairs else 0,
        "deepest": pairs[1] if pairs else 0,
        "numbered": round(numbered, 2),
        "seconds": round(total_seconds, 2),
        "goal": "< 60",
    }


if __name__ == "__main__":
    main()
