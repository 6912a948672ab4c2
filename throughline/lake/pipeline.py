"""Update the lake, stage by stage: the work of `throughline lake run` and of spark-submit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic

from throughline.lake.bronze.event_files import LARGEST_EVENT
from throughline.lake.bronze.ingestion import ingest
from throughline.lake.engine.port import together
from throughline.lake.gold.coverage import write_coverage, write_schema_changes
from throughline.lake.gold.current_lineage import add_all_up
from throughline.lake.gold.impact import write_impact, write_tags
from throughline.lake.gold.lineage_history import write_history
from throughline.lake.silver.quality import refine_quality
from throughline.lake.silver.refinement import Meaning, refine
from throughline.lake.tables.lake import Lake
from throughline.lake.tables.schemas import CURRENT, QUALITY, RUNS, SCHEMAS

STAGES = ("bronze", "silver", "current", "history", "impact", "tags", "changes", "coverage")
"""The stages in their order."""

DONE = "lake"
"""The step under which a completed batch is recorded."""

MEANING = "meaning"
"""The step under which `Meaning.number` is recorded: the settings of the tables' rows."""

MIXED = -1
"""The number of a lake whose runs had different settings: rows that were not touched since follow the earlier ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The result of a stage: the numbers of changed rows by kind, and its seconds."""

    name: str
    counts: dict[str, int]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An order for a run of the lake: `sources` are folders of events; `tags` a CSV file of `qualified_name`, `column`
    and `tag`, if any.
    """

    sources: tuple[str, ...]
    meaning: Meaning = field(default_factory=Meaning)
    tags: str = ""
    largest: int = LARGEST_EVENT


def run(lake: Lake, order: Order, *, note: Callable[[Stage], None] = lambda _: None) -> Sequence[Stage]:
    """Update every table from the sources. `note` is called after each stage, one at a time, in the order in which the
    stages end: those after `current` run in parallel.

    The next run completes one that was interrupted anywhere, with the same tables in the end. Without new events
    nothing is written.
    """
    stages: list[Stage] = []
    noting = Lock()
    lake.tidy()
    since = lake.progress(DONE)
    note_meaning(lake, order.meaning, since)
    batch = since + 1

    def stage(name: str, work: Callable[[], dict[str, int]]) -> None:
        began = monotonic()
        counts = work()
        finished_stage = Stage(name=name, counts=counts, seconds=monotonic() - began)
        with noting:
            stages.append(finished_stage)
            note(finished_stage)

    stage("bronze", lambda: ingest(lake, order.sources, batch=batch, largest=order.largest))
    stage("silver", lambda: _silver(lake, order.meaning, batch, since))
    stage("current", lambda: {"processes": add_all_up(lake, order.meaning, batch=batch, since=since)})
    tables = (CURRENT, SCHEMAS, RUNS, QUALITY)
    edges, schemas, runs, tests = (not lake.changed(table, since).isEmpty() for table in tables)

    def dependants() -> None:
        """The stages that depend on the current lineage, and their counts."""
        if edges:
            stage("impact", lambda: {"pairs": write_impact(lake, batch=batch)})
        if order.tags:
            tags = lake.session.read.option("header", "true").csv(order.tags)
            stage("tags", lambda: {"columns": write_tags(lake, tags, batch=batch)})
        if edges or schemas:
            stage("changes", lambda: {"columns": write_schema_changes(lake, batch=batch, since=since)})

    def covered() -> None:
        if edges or schemas or runs or tests:
            stage("coverage", lambda: {"rows": write_coverage(lake, batch=batch)})

    def history() -> None:
        stage("history", lambda: {"edges": write_history(lake, order.meaning, batch=batch, since=since)})

    together(lake.engine, history, dependants, covered)
    if edges or schemas or runs or any(sum(stage.counts.values()) for stage in stages):
        lake.note(DONE, batch)
    return sorted(stages, key=lambda finished_stage: STAGES.index(finished_stage.name))


def note_meaning(lake: Lake, meaning: Meaning, since: int) -> None:
    """Record the settings of the tables. A lake with the defaults has no record, which counts as 0."""
    noted = lake.progress(MEANING)
    if noted not in {meaning.number, MIXED}:
        lake.note(MEANING, MIXED if since else meaning.number)


def _silver(lake: Lake, meaning: Meaning, batch: int, since: int) -> dict[str, int]:
    refined_counts = refine(lake, meaning, batch=batch, since=since)
    return refined_counts | {"quality results": refine_quality(lake, meaning.names, batch=batch, since=since)}
