"""Runs -> what each says: the core's translation, with what the other runs of its application tell.

What a run is to know of its application comes before it in the same stream of rows: who and where the application is,
and the batches of its streams. So an application may have any number of runs: it is cut into pieces, each with the same
beginning. What a run says in the same words as one before it (`saying`) is not made again.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import sqlglot.dialects.databricks  # noqa: F401 - the core imports it when a statement is read: else each worker would
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from shared.naming.names import BUILT_IN, Names
from shared.naming.rules.user_rules import parse_names
from shared.translation.application.context import NO_APPLICATION_FACTS, RunContext, application_facts_of
from shared.translation.run.changes import batch_of, names_no_source
from spark_pipeline.engine.arrow import following, stream
from spark_pipeline.engine.arrow_cells import Record, Row
from spark_pipeline.engine.port import Engine
from spark_pipeline.silver.run_merging import UNUSABLE
from spark_pipeline.silver.stream_batches import Batches
from spark_pipeline.silver.translation_cache import MOST, Sayings
from spark_pipeline.tables.declaration import shape
from spark_pipeline.tables.encoding import unpack_run, unpack_told

PIECE = 20_000
"""Runs of one application that are translated in one go."""

_TOLD, _BATCH, _RUN = 0, 1, 2

TRANSLATED = shape("""
    run_id string -
    application_run string -
    first timestamp -
    last timestamp -
    word string -
    reason string -
    fates binary -
    said array<struct<process:string,digest:string,wanted:boolean,content:binary>> -
    schemas array<struct<qualified_name:string,written:boolean,fields:array<struct<name:string,type:string>>>> -""")
"""What `said` and `schemas` hold is given in just this order."""


def translated(
    engine: Engine,
    runs: DataFrame,
    wanted: DataFrame | None,
    *,
    as_of: datetime | None,
    end_timeout: timedelta,
    names: tuple[str, str] | None = None,
    remembered: int = MOST,
) -> DataFrame:
    """What the `wanted` runs (by run_id; None: all) say. `runs` are they and all runs of their applications that speak
    or may be batches around them, if not more, with the `weight` of what is `merged`; `as_of` is the time that
    counts as now, nothing where runs without an end are waited for for ever; `names` are a file's text and its path;
    `remembered` are the bytes that a worker may hold of what runs said.
    """
    own = runs.where("merged is not null")
    if wanted is not None:
        own = own.join(wanted.select("run_id").distinct(), on="run_id", how="left_semi")
    cut = f.lit(False) if as_of is None else f.col("arrived") <= f.lit(as_of - end_timeout)
    blank = {name: f.lit(None) for name in ("tolds", "merged", "run_id")}
    rows = own.select(
        "application_run",
        f.pmod(f.xxhash64("run_id"), f.lit(1 << 30)).alias("hash"),
        f.lit(_RUN).alias("rank"),
        "last",
        "first",
        "run_id",
        blank["tolds"].cast("array<binary>").alias("tolds"),
        "merged",
        cut.alias("timed_out"),
        "alone",
    )
    sizes = rows.groupBy("application_run").agg(
        f.ceil(f.count("*") / f.lit(PIECE)).cast("int").alias("pieces"),
        f.min(f.when(f.col("alone"), f.col("last"))).alias("alone_since"),
    )
    pieces = f.explode(f.sequence(f.lit(0), f.col("pieces") - 1)).alias("piece")
    tolds = (
        runs.where("speaks")
        .join(sizes, "application_run")
        .groupBy("application_run", "pieces")
        .agg(f.sort_array(f.collect_set("told")).alias("tolds"))
        .select("application_run", pieces, "tolds")
    )
    batches = (
        runs.where("streams")
        .join(sizes.where("alone_since is not null"), "application_run")
        .where(f.col("last") >= f.col("alone_since"))
        .select("application_run", pieces, "last", "run_id", "merged")
    )
    # very few applications are cut: to join the sizes of all would move what is merged once more (Sail takes no hints)
    cut_up = f.broadcast(sizes.where("pieces > 1").select("application_run", "pieces"))
    piece = f.coalesce(f.col("hash") % f.col("pieces"), f.lit(0))
    plain = rows.join(cut_up, "application_run", "left").withColumn("piece", piece)
    order = {
        "application_run": "string",
        "piece": "int",
        "rank": "int",
        "last": "timestamp",
        "first": "timestamp",
        "run_id": "string",
        "tolds": "array<binary>",
        "merged": "binary",
        "timed_out": "boolean",
    }
    whole = plain.select(*(f.col(name).cast(of) for name, of in order.items()))
    for rank, context in ((_TOLD, tolds), (_BATCH, batches)):
        lacking = set(order).difference(context.columns)
        each = ((f.lit(rank if name == "rank" else None).cast(of).alias(name), name) for name, of in order.items())
        whole = whole.unionByName(context.select(*(value if name in lacking else name for value, name in each)))
    largest = engine.largest(own, f.col("weight"))
    ordered = engine.in_order(whole, ("application_run", "piece"), ("rank", "last", "run_id"), keep=tuple(order))
    return stream(ordered, Translating(names, remembered), TRANSLATED, largest=largest)


class Translating:
    """The rows of applications in, what their runs say out."""

    def __init__(self, names: tuple[str, str] | None, remembered: int = MOST) -> None:
        self._names, self._remembered = names, remembered

    def __call__(self, rows: Iterator[Record]) -> Iterable[Row]:
        """Rows of TRANSLATED from the rows that `translated` puts in order."""
        names, sayings = _names_of(self._names), Sayings(self._remembered)
        piece: Any = None
        told, batches = NO_APPLICATION_FACTS, Batches()
        for row in rows:
            if (row.application_run, row.piece) != piece:
                piece = following((row.application_run, row.piece), piece)
                told, batches = NO_APPLICATION_FACTS, Batches()
            if row.rank == _TOLD:
                for each in row.tolds:
                    told |= unpack_told(each)
                continue
            try:
                run = unpack_run(row.merged)
                around = RunContext(facts=told | application_facts_of(run), names=names)
                if row.rank == _BATCH:
                    if batch := batch_of(run, around):
                        batches.add(batch)
                    continue
                if batches and names_no_source(run):
                    around = RunContext(facts=around.facts, batches=batches.around(run), names=names)
                found = sayings.of(run, around, timed_out=row.timed_out)
            except UNUSABLE as error:
                if row.rank == _BATCH:  # where it is translated itself it has a row of its own
                    continue
                reason = f"{type(error).__name__}: {error}"[:1000]
                found = {"word": "unusable", "reason": reason, "said": [], "schemas": []}
            seen = {"first": row.first, "last": row.last}
            yield {"run_id": row.run_id, "application_run": row.application_run, **seen, **found}


@cache
def _names_of(told: tuple[str, str] | None) -> Names:
    """The names of a file (text and path), parsed once a worker. Raises Misconfigured."""
    return parse_names(*told) if told else BUILT_IN
