"""Gold, `lineage_history`: from when to when each edge was part of the lineage."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial, reduce
from operator import or_

from pyspark.sql import functions as f
from pyspark.sql.window import Window

from shared.lineage.building import TABLE
from shared.model import ApplicationTimes, Contribution, Process, Span
from shared.translation.aggregate import SupersessionPolicy, aggregate
from throughline.lake.engine.arrow import grouped, stream
from throughline.lake.engine.arrow_cells import Record, Row
from throughline.lake.gold.current_lineage import contributions, largest_content
from throughline.lake.silver.refinement import Meaning
from throughline.lake.tables.declaration import struct
from throughline.lake.tables.encoding import application_times_of, contribution_of, unpack_process
from throughline.lake.tables.lake import Lake
from throughline.lake.tables.schemas import CONTRIBUTIONS, CURRENT, HISTORY

STEP_SEPARATOR = " "
_KEY = ("input", "input_column", "output", "output_column", "kind")
_HOW = ("masked", "parsed", "how")
"""How an edge came about: where that changes, an interval ends and another begins."""
_Edge = tuple[str, str, str, str, str]
_How = tuple[bool, bool, str]

_ROWS = struct(HISTORY.content)


def write_history(lake: Lake, meaning: Meaning, *, batch: int, since: int) -> int:
    """Update `lineage_history` from silver and the current lineage. Returns how many rows changed."""
    changed = lake.changed(CONTRIBUTIONS, since).select("process")
    now = lake.changed(CURRENT, since).select("process")
    with lake.kept("edges_touched", changed.union(now).distinct()) as touched_processes:
        if touched_processes.isEmpty():
            return 0
        rows = contributions(lake, touched_processes)
        run = Window.partitionBy("process", "application_run")
        began = f.least(f.min("first").over(run), f.col("app_first"))
        present_processes = lake.live(CURRENT).select("process", f.col("content").alias("present"))
        known_rows = rows.withColumn("began", began).join(present_processes, "process", "left")
        sort_columns = ("began", "application_run", "digest")
        ordered = lake.engine.in_order(known_rows, ("process",), sort_columns, keep=known_rows.columns)
        interval_rows = stream(
            ordered, partial(_intervals, meaning), _ROWS, largest=largest_content(lake, touched_processes)
        )
        return lake.put(HISTORY, interval_rows, batch=batch, scope=touched_processes)


@dataclass(slots=True)
class _Interval:
    since: datetime
    seen: datetime
    how: _How


def _intervals(meaning: Meaning, rows: Iterator[Record]) -> Iterator[Row]:
    """The intervals of the contributions to each process, which come by application run, the oldest first."""
    patience = SupersessionPolicy(quiet=meaning.quiet, unseen=meaning.unseen)
    for process, process_rows in grouped(rows, "process"):
        holds: dict[_Edge, _Interval] = {}
        present_content: bytes | None = None
        for (_, application_run), of_run in grouped(process_rows, "began", "application_run"):
            facts, contents = ApplicationTimes(), list[Contribution]()
            for row in of_run:
                contents.append(contribution_of(row))
                facts, present_content = application_times_of(row), row.present
            seen_span = reduce(or_, (content.seen for content in contents))
            total = aggregate(contents, {application_run: facts}, now=None, patience=patience)
            current = _edges(total.process) if total.process else {}
            is_over = _is_over(meaning, facts, seen_span)
            for edge, edge_facts in current.items():
                interval = holds.setdefault(edge, _Interval(seen_span.first, seen_span.last, edge_facts))
                if interval.how != edge_facts and is_over:
                    yield _row(process, edge, interval, seen_span.first)
                    holds[edge] = _Interval(seen_span.first, seen_span.last, edge_facts)
                interval.seen = max(interval.seen, seen_span.last)
            if is_over:
                end = max(facts.last or seen_span.last, seen_span.last)
                for edge in sorted(holds.keys() - current.keys()):
                    yield _row(process, edge, holds.pop(edge), end)
        current = _edges(unpack_process(present_content)) if present_content else {}
        for edge in sorted(holds):
            interval = holds[edge]
            if edge in current:  # several runs may stand behind it: it is as their union has it
                interval.how = current[edge]
            yield _row(process, edge, interval, None if edge in current else interval.seen)


def _is_over(meaning: Meaning, facts: ApplicationTimes, seen_span: Span) -> bool:
    if facts.ended == "COMPLETE":
        return True
    last = max(facts.last or seen_span.last, seen_span.last)
    return bool(facts.ended is None and meaning.as_of and last + meaning.quiet <= meaning.as_of)


def _edges(process: Process) -> dict[_Edge, _How]:
    facts_by_edge: dict[_Edge, _How] = {}
    for edge in process.columns:
        ends = (edge.input.qualified_name, edge.input.column, edge.output.qualified_name, edge.output.column)
        facts_by_edge[*ends, edge.kind.value] = (edge.masked, edge.parsed, STEP_SEPARATOR.join(edge.how))
    for source in process.inputs:
        for sink in process.outputs:
            facts_by_edge[source.qualified_name, "", sink.qualified_name, "", TABLE] = (False, False, "")
    return facts_by_edge


def _row(process: str, edge: _Edge, interval: _Interval, until: datetime | None) -> Row:
    return {
        "process": process,
        **dict(zip(_KEY, edge, strict=True)),
        **dict(zip(_HOW, interval.how, strict=True)),
        "valid_from": interval.since,
        "valid_to": until,
        "last_seen": interval.seen,
    }
