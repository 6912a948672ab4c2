"""Contributions of runs -> contributions of applications, without data sets that were dropped again (staging)."""

from collections.abc import Iterable, Iterator

from msgspec.structs import asdict
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from shared.model import Contribution
from shared.translation.run.application import LifecycleEvents
from shared.translation.staging_elimination import StagingResult, eliminate_staging
from throughline.lake.engine.arrow import grouped, stream
from throughline.lake.engine.arrow_cells import Record, Row
from throughline.lake.engine.port import Engine, union_of
from throughline.lake.tables.declaration import columns, struct
from throughline.lake.tables.encoding import assets, contribution_of, edges, pack, unpack_lifecycle_events
from throughline.lake.tables.schemas import CONTRIBUTIONS

_LIFECYCLE_EVENTS, _CONTRIBUTION = 0, 1

_ASSETS = "array<struct<type:string,qualified_name:string,namespace:string,name:string,tables:array<string>>>"
_ROWS = struct((*CONTRIBUTIONS.content, *columns(f"assets {_ASSETS} The data sets that it names")))


def without_staging(engine: Engine, run_contributions: DataFrame, lifecycle_events: DataFrame) -> DataFrame:
    """Rows of `contributions` with their `assets`, for all applications of these (active) run contributions and
    lifecycle events.

    An application without lifecycle events passes through a row at a time; all distinct contents of one with lifecycle
    events are held in memory.
    """
    distinct = run_contributions.groupBy("application_run", "digest").agg(
        f.min("first").alias("first"),
        f.max("last").alias("last"),
        f.max("unresolved").alias("unresolved"),
        f.first("content").alias("content"),
    )
    heads = (
        distinct.where("unresolved")
        .select("application_run", f.lit(None).cast("binary").alias("lifecycle_events"))
        .unionByName(lifecycle_events)
        .groupBy("application_run")
        .agg(f.sort_array(f.collect_list("lifecycle_events")).alias("lifecycle_events"))
        .join(distinct.select("application_run").distinct(), "application_run", "left_semi")
    )
    input_rows = union_of(
        distinct.drop("unresolved").withColumn("rank", f.lit(_CONTRIBUTION)),
        heads.withColumn("rank", f.lit(_LIFECYCLE_EVENTS)),
    )
    largest = engine.largest(run_contributions, f.length("content"))
    return stream(
        engine.in_order(input_rows, ("application_run",), ("rank", "digest"), keep=input_rows.columns),
        _eliminated,
        _ROWS,
        largest=largest,
        weigh="content",
    )


def _eliminated(rows: Iterator[Record]) -> Iterable[Row]:
    for _, application_rows in grouped(rows, "application_run"):
        digests: dict[int, str] = {}
        contributions = list[Contribution]()
        lifecycle_events: LifecycleEvents | None = None
        for row in application_rows:
            if row.rank == _LIFECYCLE_EVENTS:
                lifecycle_events = LifecycleEvents.of(
                    event for packed_events in row.lifecycle_events for event in unpack_lifecycle_events(packed_events)
                )
                continue
            contribution = contribution_of(row)
            if lifecycle_events is None:
                yield _row(row.digest, StagingResult(contribution=contribution, remains=contribution))
            else:
                digests[id(contribution)] = row.digest
                contributions.append(contribution)
        if lifecycle_events is not None:
            yield from (
                _row(digests[id(staging_result.contribution)], staging_result)
                for staging_result in eliminate_staging(contributions, lifecycle_events)
            )


def _row(digest: str, staging_result: StagingResult) -> Row:
    content = staging_result.remains.content if staging_result.remains else staging_result.contribution.content
    remains = staging_result.remains is not None
    return {
        "application_run": staging_result.contribution.application_run,
        "digest": digest,
        "process": content.qualified_name,
        "original_process": staging_result.contribution.content.qualified_name,
        "name": content.name,
        "first": staging_result.contribution.seen.first,
        "last": staging_result.contribution.seen.last,
        "operations": list(content.operations),
        "inputs": assets(content, "inputs") if remains else [],
        "outputs": assets(content, "outputs") if remains else [],
        "columns": edges(content) if remains else [],
        "content": pack(content),
        "eliminated": not remains,
        "assets": [asdict(asset) for asset in (*content.inputs, *content.batch_inputs, *content.outputs)]
        if remains
        else [],
    }
