"""The lake brought up to date, stage by stage: what `throughline lake run` and spark-submit do."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic

from pyspark.sql import functions as f

from spark_pipeline.bronze.event_files import LARGEST_EVENT
from spark_pipeline.bronze.ingestion import ingest
from spark_pipeline.engine.concurrency import together
from spark_pipeline.gold.coverage import write_coverage, write_schema_changes
from spark_pipeline.gold.current_lineage import add_all_up
from spark_pipeline.gold.impact import write_impact, write_tags
from spark_pipeline.gold.lineage_history import write_history
from spark_pipeline.silver.refinement import Meaning, refine
from spark_pipeline.tables.declaration import Table
from spark_pipeline.tables.lake import Lake
from spark_pipeline.tables.schemas import CURRENT, RUNS, SCHEMAS

STAGES = ("bronze", "silver", "current", "history", "impact", "tags", "changes", "coverage")
"""The stages in their order."""

DONE = "lake"
"""What is noted of a batch that went through all stages."""

MEANING = "meaning"
"""The step under which `Meaning.number` is noted: by what settings the tables were made."""

MIXED = -1
"""That number of a lake whose runs had different settings: what was not touched since is as earlier ones made it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What a stage did: rows that it changed, by what they are, and the seconds it took."""

    name: str
    counts: dict[str, int]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a run of the lake is to do: `sources` are folders of events; `tags` a CSV file of `qualified_name`, `column`
    and `tag`, if any.
    """

    sources: tuple[str, ...]
    meaning: Meaning = field(default_factory=Meaning)
    tags: str = ""
    largest: int = LARGEST_EVENT


def run(lake: Lake, order: Order, *, note: Callable[[Stage], None] = lambda _: None) -> Sequence[Stage]:
    """Bring every table up to what the sources hold; `note` is told after each stage, one at a time, in the order in
    which they end: what follows `current` is worked on side by side.

    A run that is cut off anywhere is finished by the next one, with the same tables in the end. Where nothing is new,
    nothing is written.
    """
    done: list[Stage] = []
    noting = Lock()
    lake.tidy()
    since = lake.progress(DONE)
    note_meaning(lake, order.meaning, since)
    batch = since + 1

    def stage(name: str, work: Callable[[], dict[str, int]]) -> None:
        began = monotonic()
        counts = work()
        ended = Stage(name=name, counts=counts, seconds=monotonic() - began)
        with noting:
            done.append(ended)
            note(ended)

    stage("bronze", lambda: _bronze(lake, order, batch))
    stage("silver", lambda: _silver(lake, order, batch, since))
    stage("current", lambda: {"processes": add_all_up(lake, order.meaning, batch=batch, since=since)})
    edges, schemas, runs = (_changed(lake, table, since) for table in (CURRENT, SCHEMAS, RUNS))

    def dependants() -> None:
        """What depends on what, and what is counted by it."""
        if edges:
            stage("impact", lambda: {"pairs": write_impact(lake, batch=batch)})
        if order.tags:
            tags = lake.session.read.option("header", "true").csv(order.tags)
            stage("tags", lambda: {"columns": write_tags(lake, tags, batch=batch)})
        if edges or schemas:
            stage("changes", lambda: {"columns": write_schema_changes(lake, batch=batch, since=since)})

    def covered() -> None:
        if edges or schemas or runs:
            stage("coverage", lambda: {"rows": write_coverage(lake, batch=batch)})

    def lasted() -> None:
        stage("history", lambda: {"edges": write_history(lake, order.meaning, batch=batch, since=since)})

    together(lake.engine, lasted, dependants, covered)
    if edges or schemas or runs or any(sum(each.counts.values()) for each in done):
        lake.note(DONE, batch)
    return sorted(done, key=lambda each: STAGES.index(each.name))


def note_meaning(lake: Lake, meaning: Meaning, since: int) -> None:
    """Note by what settings the tables are made. A lake of the defaults has no note, which is as 0."""
    noted = lake.progress(MEANING)
    if noted not in {meaning.number, MIXED}:
        lake.note(MEANING, MIXED if since else meaning.number)


def _bronze(lake: Lake, order: Order, batch: int) -> dict[str, int]:
    found = ingest(lake, order.sources, batch=batch, largest=order.largest)
    return {"files": found.files, "events": found.events, "quarantined": found.quarantined}


def _silver(lake: Lake, order: Order, batch: int, since: int) -> dict[str, int]:
    found = refine(lake, order.meaning, batch=batch, since=since)
    return {"runs": found.runs, "processes": found.processes}


def _changed(lake: Lake, table: Table, since: int) -> bool:
    return not lake.read(table).where(f.col("batch") > since).isEmpty()
