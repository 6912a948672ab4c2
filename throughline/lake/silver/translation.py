"""Runs -> their contributions: the core's translation of each run, in the context of its application.

The rows of an application's context (its facts, and the batches of its streams) come before the rows of its runs in one
ordered stream. An application may have any number of runs: it is cut into pieces, and each piece begins with the same
context. Equal runs are translated once (`translation_cache`).
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache, partial
from itertools import groupby
from typing import Any

import sqlglot.dialects.databricks  # noqa: F401 - the core imports it when a statement is read: else each worker would
from msgspec.structs import replace
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from shared.naming.names import BUILT_IN, Names
from shared.naming.user_rules import parse_names
from shared.openlineage.run import MergedRun
from shared.translation.run.application import (
    JOINED,
    NO_APPLICATION_FACTS,
    ApplicationFacts,
    RunContext,
    StreamBatch,
    application_facts_of,
    joins_in,
)
from shared.translation.run.columns import merge_plan
from shared.translation.run.translate import batch_of, names_no_source
from throughline.lake.engine.arrow import following, stream
from throughline.lake.engine.arrow_cells import Record, Row
from throughline.lake.engine.port import Engine, union_of
from throughline.lake.silver.run_merging import UNUSABLE, reason_of
from throughline.lake.silver.stream_batches import Batches
from throughline.lake.silver.translation_cache import MAX_CACHED_BYTES, TranslationCache
from throughline.lake.tables.declaration import columns, struct
from throughline.lake.tables.encoding import unpack_facts, unpack_run

PIECE = 20_000
"""Runs of one application in one piece."""

_CONTEXT, _BATCH, _RUN = 0, 1, 2

TRANSLATED = struct(
    columns("""
        run_id string -
        application_run string -
        first timestamp -
        last timestamp -
        outcome string -
        reason string -
        lifecycle_events binary -
        columns_by string -
        contributions array<struct<process:string,digest:string,unresolved:boolean,content:binary>> -
        schemas array<struct<qualified_name:string,written:boolean,fields:array<struct<name:string,type:string>>>> -""")
)
"""The structs of `contributions` and `schemas` are tuples with their fields in this order."""


def translated(
    engine: Engine,
    runs: DataFrame,
    wanted_rows: DataFrame | None,
    *,
    as_of: datetime | None,
    end_timeout: timedelta,
    names: tuple[str, str] | None = None,
    cached: int = MAX_CACHED_BYTES,
) -> DataFrame:
    """Rows of TRANSLATED: the outcome and the contributions of the `wanted_rows` runs (by run_id; None: all).

    `runs` are these and at least all runs of their applications that have context or may enclose them, with the
    `weight` (bytes) of `merged`. `as_of` is the time that counts as now; with None no run times out. `names` is the
    text of a file of naming rules and its path. A worker's cache of translations holds `cached` bytes at most.
    """
    own_rows = runs.where("merged is not null")
    if wanted_rows is not None:
        own_rows = own_rows.join(wanted_rows.select("run_id").distinct(), on="run_id", how="left_semi")
    cut = f.lit(False) if as_of is None else f.col("arrived") <= f.lit(as_of - end_timeout)
    rows = own_rows.select(
        "application_run",
        f.pmod(f.xxhash64("last"), f.lit(1 << 30)).alias("hash"),  # what ends at once comes into one piece
        f.lit(_RUN).alias("rank"),
        "last",
        "first",
        "run_id",
        "merged",
        cut.alias("timed_out"),
        "lacks_sources",
    )
    sizes = rows.groupBy("application_run").agg(
        f.ceil(f.count("*") / f.lit(PIECE)).cast("int").alias("pieces"),
        f.min(f.when(f.col("lacks_sources"), f.col("last"))).alias("lacking_since"),
    )
    pieces = f.explode(f.sequence(f.lit(0), f.col("pieces") - 1)).alias("piece")
    contexts = (
        runs.where("has_context")
        .join(sizes, "application_run")
        .groupBy("application_run", "pieces")
        .agg(f.sort_array(f.collect_set("context")).alias("contexts"))
        .select("application_run", pieces, "contexts")
    )
    batches = (
        runs.where("may_enclose")
        .join(sizes.where("lacking_since is not null"), "application_run")
        .where(f.col("last") >= f.col("lacking_since"))
        .select("application_run", pieces, "last", "run_id", "merged")
    )
    # very few applications are cut: to join the sizes of all would move what is merged once more (Sail takes no hints)
    cut_up = f.broadcast(sizes.where("pieces > 1").select("application_run", "pieces"))
    piece = f.coalesce(f.col("hash") % f.col("pieces"), f.lit(0)).cast("int")
    plain = rows.join(cut_up, "application_run", "left").withColumn("piece", piece)
    input_rows = union_of(
        plain.drop("hash", "lacks_sources", "pieces"),
        contexts.withColumn("rank", f.lit(_CONTEXT)),
        batches.withColumn("rank", f.lit(_BATCH)),
    )
    largest = engine.largest(own_rows, f.col("weight"))
    ordered = engine.in_order(
        input_rows, ("application_run", "piece"), ("rank", "last", "run_id"), keep=input_rows.columns
    )
    return stream(ordered, partial(translations, names, cached), TRANSLATED, largest=largest)


def translations(file: tuple[str, str] | None, cached: int, rows: Iterator[Record]) -> Iterator[Row]:
    """Rows of TRANSLATED from the rows that `translated` puts in order; `file` is its `names`. A plan that came alone
    counts with the run to which it is joined.
    """
    names, cache = names_of(file), TranslationCache(cached)
    piece: Any = None
    facts, batches = NO_APPLICATION_FACTS, Batches()
    for row, run in with_plans(rows):
        if (row.application_run, row.piece) != piece:
            piece = following((row.application_run, row.piece), piece)
            facts, batches = NO_APPLICATION_FACTS, Batches()
        if row.rank == _CONTEXT:
            for context in row.contexts:
                facts |= unpack_facts(context)
            continue
        if row.rank == _BATCH:
            if batch := _batch(run, facts, names):
                batches.add(batch)
            continue
        outcome = _outcome(run, RunContext(facts=facts, names=names), batches, cache, timed_out=row.timed_out)
        span = {"first": row.first, "last": row.last}
        yield {"run_id": row.run_id, "application_run": row.application_run, **span, **outcome}


Unpacked = MergedRun | Exception | None
"""A run; what the core raised for it; or None for a plan that is joined to another run."""


def _batch(run: Unpacked, facts: ApplicationFacts, names: Names) -> StreamBatch | None:
    """The stream's batch of a run; none of one that the core cannot take: where it is translated it has a row."""
    if not isinstance(run, MergedRun):
        return None
    try:
        return batch_of(run, RunContext(facts=facts | application_facts_of(run), names=names))
    except UNUSABLE:
        return None


def _outcome(run: Unpacked, context: RunContext, batches: Batches, cache: TranslationCache, *, timed_out: bool) -> Row:
    """What becomes of a run in the context of its application."""
    if run is None:
        return {"outcome": "skipped", "reason": JOINED, "contributions": [], "schemas": []}
    try:
        if isinstance(run, Exception):
            raise run
        context = replace(context, facts=context.facts | application_facts_of(run))
        if batches and names_no_source(run):
            context = replace(context, batches=batches.around(run))
        return cache.of(run, context, timed_out=timed_out)
    except UNUSABLE as error:
        return {"outcome": "unusable", "reason": reason_of(error), "contributions": [], "schemas": []}


def with_plans(rows: Iterator[Record]) -> Iterator[tuple[Record, Unpacked]]:
    """Each row with its run, or with what the core raised for it. Of runs that end at once plans that came alone are
    joined to others: None for these.
    """
    for (rank, *_), at_once in groupby(rows, key=lambda row: (row.rank, row.application_run, row.piece, row.last)):
        if rank == _CONTEXT:
            yield from ((row, None) for row in at_once)
            continue
        runs = [(row, _unpacked(row)) for row in at_once]
        merged = {run.run_id: run for _, run in runs if isinstance(run, MergedRun)}
        joins = joins_in(merged.values()) if rank == _RUN and len(merged) > 1 else {}
        joined: dict[str, MergedRun | Exception] = {}
        for plan, run_id in joins.items():
            try:
                joined[run_id] = merge_plan(merged[run_id], merged[plan])
            except UNUSABLE as error:
                joined[run_id] = error
        for row, run in runs:
            yield row, None if row.run_id in joins else joined.get(row.run_id, run)


def _unpacked(row: Record) -> MergedRun | Exception:
    try:
        return unpack_run(row.merged)
    except UNUSABLE as error:
        return error


@cache
def names_of(file: tuple[str, str] | None) -> Names:
    """The naming rules of a file (text and path), parsed once a worker. Raises Misconfigured."""
    return parse_names(*file) if file else BUILT_IN
