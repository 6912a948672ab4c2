"""Gold, `lineage_history`: from when to when each edge was part of the lineage."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyspark.sql import functions as f
from pyspark.sql.window import Window

from shared.lineage.building import TABLE
from shared.model import ApplicationTimes, Contribution, Process, Span
from shared.translation.aggregate import SupersessionPolicy, aggregate
from spark_pipeline.engine.arrow import grouped, stream
from spark_pipeline.engine.arrow_cells import Record, Row
from spark_pipeline.gold.current_lineage import contributions, largest_content
from spark_pipeline.silver.refinement import Meaning
from spark_pipeline.tables.declaration import struct
from spark_pipeline.tables.encoding import moment, unpack_process
from spark_pipeline.tables.lake import Lake
from spark_pipeline.tables.schemas import CONTRIBUTIONS, CURRENT, HISTORY

STEP_SEPARATOR = " "
_KEY = ("input", "input_column", "output", "output_column", "kind")
_HOW = ("masked", "parsed", "how")
"""How an edge came about: where that changes, an interval ends and another begins."""
_Edge = tuple[str, str, str, str, str]
_How = tuple[bool, bool, str]

_ROWS = struct(HISTORY.content)


def write_history(lake: Lake, meaning: Meaning, *, batch: int, since: int) -> int:
    """Update `lineage_history` from silver and the current lineage. Returns how many rows changed."""
    changed = lake.read(CONTRIBUTIONS).where(f.col("batch") > since).select("process")
    now = lake.read(CURRENT).where(f.col("batch") > since).select("process")
    with lake.kept("edges_touched", changed.union(now).distinct()) as touched:
        if touched.isEmpty():
            return 0
        rows = contributions(lake, touched)
        run = Window.partitionBy("process", "application_run")
        began = f.least(f.min("first").over(run), f.col("app_first"))
        present = lake.live(CURRENT).select("process", f.col("content").alias("present"))
        known = rows.withColumn("began", began).join(present, "process", "left")
        then = ("began", "application_run", "digest")
        ordered = lake.engine.in_order(known, ("process",), then, keep=known.columns)
        found = stream(ordered, _Writing(meaning), _ROWS, largest=largest_content(lake, touched))
        return lake.put(HISTORY, found, batch=batch, scope=touched)


@dataclass(slots=True)
class _Interval:
    since: datetime
    seen: datetime
    how: _How


class _Writing:
    """Contributions to each process, oldest application run first, in; intervals out."""

    def __init__(self, meaning: Meaning) -> None:
        self._meaning = meaning
        self._patience = SupersessionPolicy(quiet=meaning.quiet, unseen=meaning.unseen)

    def __call__(self, rows: Iterator[Record]) -> Iterable[Row]:
        for process, own in grouped(rows, "process"):
            holds: dict[_Edge, _Interval] = {}
            present: bytes | None = None
            for (_, application_run), said in grouped(own, "began", "application_run"):
                contents, facts, present = _said(application_run, said)
                seen = contents[0].seen
                for each in contents[1:]:
                    seen |= each.seen
                total = aggregate(contents, {application_run: facts}, now=None, patience=self._patience)
                current = _edges(total.process) if total.process else {}
                is_over = self._is_over(facts, seen)
                for edge, how in current.items():
                    interval = holds.setdefault(edge, _Interval(seen.first, seen.last, how))
                    if interval.how != how and is_over:
                        yield _row(process, edge, interval, seen.first)
                        holds[edge] = _Interval(seen.first, seen.last, how)
                    interval.seen = max(interval.seen, seen.last)
                if is_over:
                    end = max(facts.last or seen.last, seen.last)
                    for edge in sorted(holds.keys() - current.keys()):
                        yield _row(process, edge, holds.pop(edge), end)
            current = _edges(unpack_process(present)) if present else {}
            for edge in sorted(holds):
                interval = holds[edge]
                if edge in current:  # several runs may stand behind it: it is as their union has it
                    interval.how = current[edge]
                yield _row(process, edge, interval, None if edge in current else interval.seen)

    def _is_over(self, facts: ApplicationTimes, seen: Span) -> bool:
        if facts.ended == "COMPLETE":
            return True
        now = self._meaning.as_of
        last = max(facts.last or seen.last, seen.last)
        return bool(facts.ended is None and now and last + self._meaning.quiet <= now)


def _said(application_run: str, rows: Iterable[Record]) -> tuple[list[Contribution], ApplicationTimes, bytes | None]:
    contents: list[Contribution] = []
    facts, present = ApplicationTimes(), None
    for row in rows:
        seen = Span(first=moment(row.first), last=moment(row.last))
        content = unpack_process(row.content)
        contents.append(Contribution(application_run=application_run, content=content, seen=seen))
        present = row.present
        if row.app_first is not None:
            facts = ApplicationTimes(first=moment(row.app_first), last=moment(row.app_last), ended=row.ended)
    return contents, facts, present


def _edges(process: Process) -> dict[_Edge, _How]:
    found: dict[_Edge, _How] = {}
    for edge in process.columns:
        ends = (edge.input.qualified_name, edge.input.column, edge.output.qualified_name, edge.output.column)
        found[*ends, edge.kind.value] = (edge.masked, edge.parsed, STEP_SEPARATOR.join(edge.how))
    for source in process.inputs:
        for sink in process.outputs:
            found[source.qualified_name, "", sink.qualified_name, "", TABLE] = (False, False, "")
    return found


def _row(process: str, edge: _Edge, interval: _Interval, until: datetime | None) -> dict[str, Any]:
    return {
        "process": process,
        **dict(zip(_KEY, edge, strict=True)),
        **dict(zip(_HOW, interval.how, strict=True)),
        "valid_from": interval.since,
        "valid_to": until,
        "last_seen": interval.seen,
    }
