"""The lake says what the functions say: the whole of it, over all captured events and made-up histories."""

import gzip
from collections.abc import Iterable
from pathlib import Path

from pyspark.sql import SparkSession

from shared.model import Process
from shared.openlineage import Event, decode
from shared.translation import translate_history
from spark_pipeline.lake import Lake
from spark_pipeline.lines import Read, Reader
from spark_pipeline.schemas import CURRENT, EVENTS, LAKE, QUARANTINE
from spark_pipeline.steps import Order, run
from spark_pipeline.synth import synthesize
from spark_pipeline.values import unpack_process
from tests.spark_pipeline.files import written_at

GOLDEN = Path(__file__).parent.parent / "golden"
TEMPLATES = GOLDEN / "spark35-ol1.53"


def _current(lake: Lake) -> list[Process]:
    rows = lake.live(CURRENT).orderBy("process").select("content").collect()
    return [unpack_process(bytes(row[0])) for row in rows]


def _history(events: Iterable[Event]) -> list[Process]:
    return list(translate_history(events).processes)


def _usable(folder: Path) -> list[Event]:
    """What counts of the files of a folder, read by other code than Spark's."""
    found = [
        each
        for path in sorted(folder.rglob("*.gz"))
        for each in Reader().read(str(path), path.read_bytes(), written_at(path))
        if isinstance(each, Read)
    ]
    return [each.event for each in found if not each.late]


def test_all_captured_events_give_the_same_graph(spark: SparkSession, tmp_path: Path) -> None:
    """In two steps: of each scenario every second event comes a step later, and much of what was said changes."""
    lake = Lake.at(spark, str(tmp_path / "lake"))
    lines = [line for path in sorted(GOLDEN.glob("*/*/events.jsonl")) for line in path.read_bytes().splitlines()]
    for step in range(2):
        folder = tmp_path / "sources" / str(step)
        folder.mkdir(parents=True)
        (folder / "events.jsonl.gz").write_bytes(gzip.compress(b"\n".join(lines[step::2]), compresslevel=1))
        run(lake, Order(sources=(str(tmp_path / "sources"),)))
        told = [decode(line) for each in range(step + 1) for line in lines[each::2]]
        assert _current(lake) == _history(told)
    versions = {table.name: lake.version(table) for table in LAKE}
    done = run(lake, Order(sources=(str(tmp_path / "sources"),)))
    assert {table.name: lake.version(table) for table in LAKE} == versions
    assert not any(count for stage in done for count in stage.counts.values())


def test_a_made_up_history_gives_the_same_graph(spark: SparkSession, tmp_path: Path) -> None:
    """Re-runs, chains, stars, streams, late, repeated and broken events."""
    lake = Lake.at(spark, str(tmp_path / "lake"))
    source = tmp_path / "archive"
    done = synthesize(source, events=1_500, seed=7, templates=TEMPLATES)
    run(lake, Order(sources=(str(source),)))
    events = _usable(source)
    assert _current(lake) == _history(events)
    assert lake.read(QUARANTINE).count() == done.broken
    assert lake.read(EVENTS).where("not late").count() == len({(each.run_id, repr(each)) for each in events})


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        synthesize(tmp_path / name, events=400, seed=3, templates=TEMPLATES)
    files = [
        {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.gz")}
        for name in ("one", "two")
    ]
    assert files[0] == files[1]
    assert sum(gzip.decompress(data).count(b"\n") for data in files[0].values()) == 400
