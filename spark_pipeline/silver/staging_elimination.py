"""What application runs said -> what lasts of it, now that their data sets are what they have become."""

from collections.abc import Iterable, Iterator
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from shared.model import Contribution, Process, Span
from shared.translation.application.lifecycle import LifecycleEvents
from shared.translation.application.staging_elimination import StagingResult, eliminate_staging
from spark_pipeline.engine.arrow import grouped, stream
from spark_pipeline.engine.arrow_cells import Record, Row
from spark_pipeline.engine.port import Engine
from spark_pipeline.tables.declaration import shape
from spark_pipeline.tables.encoding import assets, edges, moment, pack, unpack_fates, unpack_process
from spark_pipeline.tables.schemas import PROCESSES

_FATES, _SAID = 0, 1

_LASTED = shape(
    "\n".join(f"{each.name} {each.type} -" for each in PROCESSES.columns if each.name not in {"active", "batch"})
    + "\nassets array<struct<type:string,qualified_name:string,namespace:string,name:string,tables:array<string>>> -"
)


def lasted(engine: Engine, sayings: DataFrame, fates: DataFrame) -> DataFrame:
    """Rows of `processes` with their `assets`, for all applications of which these are the sayings (that hold) and the
    fates of data sets.

    An application without fates passes through a row at a time; of one with fates all distinct contents are held.
    """
    said = sayings.groupBy("application_run", "digest").agg(
        f.min("first").alias("first"),
        f.max("last").alias("last"),
        f.max("wanted").alias("wanted"),
        f.first("content").alias("content"),
    )
    heads = (
        said.where("wanted")
        .select("application_run", f.lit(None).cast("binary").alias("fates"))
        .unionByName(fates)
        .groupBy("application_run")
        .agg(f.sort_array(f.collect_list("fates")).alias("fates"))
        .join(said.select("application_run").distinct(), "application_run", "left_semi")
    )
    rows = said.select(
        "application_run",
        f.lit(_SAID).alias("rank"),
        "digest",
        "first",
        "last",
        "content",
        f.lit(None).cast("array<binary>").alias("fates"),
    )
    empty = {"digest": "string", "first": "timestamp", "last": "timestamp", "content": "binary"}
    first = heads.select(
        "application_run",
        f.lit(_FATES).alias("rank"),
        *(f.lit(None).cast(of).alias(name) for name, of in empty.items()),
        "fates",
    )
    both = rows.unionByName(first)
    order = ("application_run", "rank", *empty, "fates")
    largest = engine.largest(sayings, f.length("content"))
    return stream(
        engine.in_order(both, ("application_run",), ("rank", "digest"), keep=order),
        _last,
        _LASTED,
        largest=largest,
        weigh="content",
    )


def _last(rows: Iterator[Record]) -> Iterable[Row]:
    for application_run, own in grouped(rows, "application_run"):
        spoken: dict[int, str] = {}
        contributions: list[Contribution] = []
        fates: LifecycleEvents | None = None
        for row in own:
            if row.rank == _FATES:
                fates = LifecycleEvents.of(fate for packed in row.fates for fate in unpack_fates(packed))
                continue
            said = _contribution(application_run, row)
            if fates is None:
                yield _row(row.digest, StagingResult(said=said, remains=said))
            else:
                spoken[id(said)] = row.digest
                contributions.append(said)
        if fates is not None:
            yield from (_row(spoken[id(each.said)], each) for each in eliminate_staging(contributions, fates))


def _contribution(application_run: str, row: Record) -> Contribution:
    seen = Span(first=moment(row.first), last=moment(row.last))
    return Contribution(application_run=application_run, content=unpack_process(row.content), seen=seen)


def _row(said: str, each: StagingResult) -> Row:
    content = each.remains.content if each.remains else each.said.content
    lasts = each.remains is not None
    return {
        "application_run": each.said.application_run,
        "said": said,
        "process": content.qualified_name,
        "said_process": each.said.content.qualified_name,
        "name": content.name,
        "first": each.said.seen.first,
        "last": each.said.seen.last,
        "operations": list(content.operations),
        "inputs": assets(content, "inputs") if lasts else [],
        "outputs": assets(content, "outputs") if lasts else [],
        "columns": edges(content) if lasts else [],
        "content": pack(content),
        "gone": not lasts,
        "assets": _assets(content) if lasts else [],
    }


def _assets(content: Process) -> list[dict[str, Any]]:
    return [
        {
            "type": each.type,
            "qualified_name": each.qualified_name,
            "namespace": each.namespace,
            "name": each.name,
            "tables": list(each.tables),
        }
        for each in (*content.inputs, *content.around, *content.outputs)
    ]
