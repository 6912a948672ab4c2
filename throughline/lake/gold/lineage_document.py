"""The document of lineage of the lake, with history; results of quality tests and starts, as policies and messages need
them beside it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from shared.governance.checks.findings import QualityAssertion
from shared.lineage.building import Interval, KnownProcess, document_of, intervals_of
from shared.lineage.dataset_facts import with_facts
from shared.lineage.document import NOT_SET, FailedTest, Health, LineageDocument, SchemaChange
from shared.openlineage.selection import BY_SETTINGS, NO_WRITE
from shared.translation.aggregate import ExcludedWrite, excluded_jobs
from shared.translation.sql.statement_reader import redact
from throughline.lake.gold.lineage_history import STEP_SEPARATOR
from throughline.lake.silver.quality import failed_tests, last_tests
from throughline.lake.tables.encoding import moment, unpack_process, unpack_run
from throughline.lake.tables.lake import Lake, LakeError
from throughline.lake.tables.schemas import (
    ASSETS,
    CONTRIBUTIONS,
    CURRENT,
    EVENTS,
    HISTORY,
    RUN_CONTRIBUTIONS,
    RUNS,
    SCHEMA_CHANGES,
    TAGS,
)

MergeSchemas = Callable[[Sequence[KnownProcess]], Iterable[KnownProcess]]
"""Gives the processes the schemas that those of today report together."""

_FAILURES = ("FAIL", "ABORT")


def document_of_lake(
    lake: Lake, *, statements: bool = False, expressions: bool = False, merge: MergeSchemas | None = None
) -> LineageDocument:
    """The document of all processes that the lake knows, past ones too, with failed tests and changes of schemas.

    `expressions`: with those of edges; `statements`: also with the SQL of the last run of each, without literals.
    `merge`: of several schemas of a data set not the newest counts, but what this makes of them.

    Raises LakeError where there is no lake, or one whose history has no masks: an older version wrote it.
    """
    lake.require(HISTORY)
    history = lake.live(HISTORY)
    if history.where("masked is null").head() is not None:
        raise LakeError(
            f"an older version wrote the lake in {lake.root}: its history does not say what is masked. Make it again in"
            " an empty folder with `throughline lake run ARCHIVE --lake FOLDER`"
        )
    types = {row["qualified_name"]: row["type"] for row in lake.read(ASSETS).orderBy("type").toLocalIterator()}
    tags = [(row["qualified_name"], row["column"], row["tag"]) for row in lake.read(TAGS).toLocalIterator()]
    processes = tuple(_processes(lake, statements=statements))
    current = ((process.process, process.last) for process in processes if process.current)
    excluded = tuple(excluded_jobs(_excluded_writes(lake), current))
    unseen = (KnownProcess(process=process, last=last) for process, last in excluded)
    intervals = (interval for process, last in excluded for interval in intervals_of(process, last))
    document = document_of(
        "lake",
        (*(merge(processes) if merge else processes), *unseen),
        expressions=expressions or statements,
        history=chain(_intervals(history), intervals),
        types=types,
        tags=tags,
    )
    return with_facts(document, failed_tests=_failures(lake), schema_changes=_column_changes(lake))


def _excluded_writes(lake: Lake) -> Iterator[ExcludedWrite]:
    """What the jobs write whose events the functions' settings ignored."""
    by_settings = f.col("ignored").isin(*BY_SETTINGS) & ~f.col("event_type").isin(*NO_WRITE)
    events = lake.read(EVENTS).where(by_settings).select("event_time", f.from_json("text", _OUTPUTS).alias("event"))
    outputs = events.select("event_time", f.explode("event.outputs").alias("output")).select("event_time", "output.*")
    for row in outputs.groupBy("namespace", "name").agg(f.unix_micros(f.max("event_time")).alias("last")).collect():
        yield ExcludedWrite(namespace=row["namespace"], name=row["name"], last=moment(row["last"]))


_OUTPUTS = "outputs array<struct<namespace:string,name:string>>"


def _failures(lake: Lake) -> Iterator[tuple[str, FailedTest]]:
    """The failed quality tests, by data set."""
    for row in failed_tests(lake).withColumn("at", f.unix_micros("at")).toLocalIterator():
        result = (moment(row["at"]), row["job"], row["severity"] or "")
        yield row["qualified_name"], FailedTest(NOT_SET, row["column"], row["name"], *result)


def _column_changes(lake: Lake) -> Iterator[tuple[str, SchemaChange]]:
    """The changes of schemas, by data set; none where an older version wrote the lake without them."""
    if not lake.exists(SCHEMA_CHANGES):
        return
    for row in lake.read(SCHEMA_CHANGES).withColumn("at", f.unix_micros("at")).toLocalIterator():
        types = (row["before"] or "", row["after"] or "")
        yield row["qualified_name"], SchemaChange(NOT_SET, row["column"], row["change"], moment(row["at"]), *types)


def _intervals(history: DataFrame) -> Iterator[Interval]:
    rows = history.withColumn("since", f.unix_micros("valid_from")).withColumn("until", f.unix_micros("valid_to"))
    for row in rows.toLocalIterator():
        yield Interval(
            process=row["process"],
            input=row["input"],
            input_column=row["input_column"],
            output=row["output"],
            output_column=row["output_column"],
            kind=row["kind"],
            masked=row["masked"],
            steps=tuple(row["how"].split(STEP_SEPARATOR)) if row["how"] else (),
            parsed=row["parsed"],
            valid_from=moment(row["since"]),
            valid_to=None if row["until"] is None else moment(row["until"]),
        )


def _processes(lake: Lake, *, statements: bool) -> Iterator[KnownProcess]:
    """Each process by its current content, a past one by its newest contribution, with the times of its runs."""
    newest = f.max(f.struct("last", "digest", "content"))
    past_processes = (
        lake.read(CONTRIBUTIONS)
        .groupBy("process")
        .agg(newest["content"].alias("past"), f.min("first").alias("first"), f.max("last").alias("last"))
    )
    live = lake.live(CURRENT).select("process", "content")
    named = lake.live(HISTORY).select("process").union(live.select("process")).distinct()
    rows = (
        named.join(live, "process", "left")
        .join(past_processes, "process", "left")
        .join(_last_runs(lake), "process", "left")
    )
    if statements:
        rows = rows.join(lake.read(RUNS).select(f.col("run_id").alias("last_run"), "merged"), "last_run", "left")
    columns = ("process", "content", "past", "last_run", "failed", *(("merged",) if statements else ()))
    micros = (f.unix_micros("first").alias("since"), f.unix_micros("last").alias("until"))
    for row in rows.select(*columns, *micros).toLocalIterator():
        yield KnownProcess(
            process=unpack_process(row["content"] or row["past"]),
            first=None if row["since"] is None else moment(row["since"]),
            last=None if row["until"] is None else moment(row["until"]),
            last_run=row["last_run"] or "",
            health=Health.FAILED if row["failed"] else Health.GOOD,
            current=row["content"] is not None,
            statement=redact(unpack_run(row["merged"]).statement) if statements and row["merged"] else "",
        )


def _last_runs(lake: Lake) -> DataFrame:
    """The last run that contributed to each process, and whether the last run of its job failed."""
    runs = lake.read(RUNS).select("run_id", "job_namespace", "job", f.col("last").alias("at"), "ended")
    job = ("job_namespace", "job")
    last_ended = f.max(f.struct("at", "run_id", "ended"))["ended"]
    failed = runs.groupBy(*job).agg(last_ended.isin(*_FAILURES).alias("failed"))
    contributing_runs = lake.live(RUN_CONTRIBUTIONS).select("process", "run_id").join(runs, "run_id")
    last = (
        contributing_runs.groupBy("process")
        .agg(f.max(f.struct("at", "run_id", *job)).alias("last"))
        .select("process", "last.*")
    )
    return last.join(failed, list(job), "left").select(
        "process", f.col("run_id").alias("last_run"), f.coalesce("failed", f.lit(False)).alias("failed")
    )


def quality_of_lake(lake: Lake) -> Mapping[str, tuple[QualityAssertion, ...]]:
    """The last result of each test, by the qualified name of its data set; empty where no event has had any."""
    results_by_dataset: dict[str, list[QualityAssertion]] = {}
    for row in last_tests(lake).orderBy("qualified_name", "column", "name").toLocalIterator():
        quality_assertion = QualityAssertion(
            name=row["name"], success=bool(row["success"]), column=row["column"], severity=row["severity"] or ""
        )
        results_by_dataset.setdefault(row["qualified_name"], []).append(quality_assertion)
    return {name: tuple(tests) for name, tests in results_by_dataset.items()}


MAX_STARTS = 2_000
"""The last so many runs of a process count."""


def starts_in(lake: Lake) -> Mapping[str, tuple[datetime, ...]]:
    """By qualified name of the process: when its runs began, sorted."""
    runs = lake.live(RUN_CONTRIBUTIONS).join(lake.live(CURRENT).select("process"), "process", "left_semi")
    times = f.slice(f.sort_array(f.collect_set(f.unix_micros("first")), asc=False), 1, MAX_STARTS)
    rows = runs.groupBy("process").agg(times.alias("times"))
    return {row["process"]: tuple(moment(time) for time in reversed(row["times"])) for row in rows.toLocalIterator()}


def newest_event(lake: Lake) -> datetime | None:
    """The time of the last event in the lake; None without any. Of later times the lake knows nothing."""
    row = lake.read(RUNS).agg(f.unix_micros(f.max("last")).alias("last")).head()
    return None if row is None or row["last"] is None else moment(row["last"])
