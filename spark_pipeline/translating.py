"""Runs -> what each says: the core's translation, with what the other runs of its application tell.

A run is translated by itself; what it is to know of its application comes before it in the same stream of rows: who and
where the application is, and the batches of its streams. So an application may have any number of runs: it is
cut into pieces, each with the same beginning.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from functools import cache
from itertools import accumulate
from typing import Any

import sqlglot.dialects.databricks  # noqa: F401 - the core imports it when a statement is read: else each worker would
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from shared.model import Asset, Lineage, Process, Span
from shared.naming import BUILT_IN, Names, parse_names
from shared.openlineage import MergedRun
from shared.translation import (
    AT_ONCE,
    NOTHING_TOLD,
    Around,
    Batch,
    Datasets,
    Skip,
    Told,
    batch_of,
    enclosing,
    fates_in,
    names_no_source,
    schemas_in,
    told_by,
    translate,
)
from spark_pipeline.arrow import following, shape, stream
from spark_pipeline.cells import Record, Row
from spark_pipeline.engine import Engine
from spark_pipeline.merging import UNUSABLE
from spark_pipeline.values import digest, micros, moment, pack, unpack_run, unpack_told

PIECE = 20_000
"""Runs of one application that are translated in one go."""

_TOLD, _BATCH, _RUN = 0, 1, 2

TRANSLATED = shape("""
    run_id string -
    application_run string -
    word string -
    reason string -
    fates binary -
    said array<struct<process:string,digest:string,wanted:boolean,content:binary>> -
    schemas array<struct<qualified_name:string,written:boolean,fields:array<struct<name:string,type:string>>>> -""")
"""What `said` and `schemas` hold is given in just this order."""


def translated(
    engine: Engine,
    runs: DataFrame,
    wanted: DataFrame,
    *,
    as_of: datetime | None,
    end_timeout: timedelta,
    names: tuple[str, str] | None = None,
) -> DataFrame:
    """What the `wanted` runs (by run_id) say. `runs` are they and all runs of their applications that speak or may be
    batches around them, if not more, with the `weight` of what is `merged`; `as_of` is the time that
    counts as now, nothing where runs without an end are waited for for ever; `names` are a file's text and its path.
    """
    own = runs.where("merged is not null").join(wanted.select("run_id").distinct(), on="run_id", how="left_semi")
    cut = f.lit(False) if as_of is None else f.col("arrived") <= f.lit(as_of - end_timeout)
    blank = {name: f.lit(None) for name in ("tolds", "merged", "run_id")}
    rows = own.select(
        "application_run",
        f.pmod(f.xxhash64("run_id"), f.lit(1 << 30)).alias("hash"),
        f.lit(_RUN).alias("rank"),
        "last",
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
    plain = rows.join(sizes, "application_run").withColumn("piece", f.col("hash") % f.col("pieces"))
    order = {
        "application_run": "string",
        "piece": "int",
        "rank": "int",
        "last": "timestamp",
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
    return stream(ordered, Translating(names), TRANSLATED, largest=largest)


class Batches:
    """The batches of one application by the order of their ends: little more than 60 bytes each."""

    def __init__(self) -> None:
        self._last, self._first, self._since = array("q"), array("q"), array("q")
        self._earliest = array("q")
        self._began = bytearray()
        self._runs: list[str] = []
        self._inputs: list[tuple[Asset, ...]] = []
        self._known: dict[tuple[Asset, ...], tuple[Asset, ...]] = {}

    def __len__(self) -> int:
        """How many there are."""
        return len(self._runs)

    def add(self, batch: Batch) -> None:
        """One that ended no earlier than all before it."""
        self._last.append(micros(batch.seen.last))
        self._first.append(micros(batch.seen.first))
        self._since.append(micros(batch.ends.first))
        self._began.append(batch.began)
        self._runs.append(batch.run_id)
        self._inputs.append(self._known.setdefault(batch.inputs, batch.inputs))

    def around(self, run: MergedRun) -> tuple[Batch, ...]:
        """As `enclosing` of all: no more are looked at than those that may be it."""
        found: list[Batch] = []
        until = micros(run.last)
        earliest = self._earliest_from_here()
        for index in range(bisect_left(self._last, until), len(self)):
            over = found and self._last[index] > micros(found[0].seen.last + AT_ONCE)
            if over or earliest[index] > until:
                break
            if self._since[index] <= until:
                found += enclosing((self._at(index),), run)
        return enclosing(found, run)

    def _earliest_from_here(self) -> "array[int]":
        """By batch, since when what ended later than it, or with it, may have enclosed anything."""
        if len(self._earliest) != len(self):
            self._earliest = array("q", accumulate(reversed(self._since), min))
            self._earliest.reverse()
        return self._earliest

    def _at(self, index: int) -> Batch:
        seen = Span(first=moment(self._first[index]), last=moment(self._last[index]))
        began = bool(self._began[index])
        return Batch(seen=seen, run_id=self._runs[index], inputs=self._inputs[index], began=began)


class Translating:
    """The rows of applications in, what their runs say out."""

    def __init__(self, names: tuple[str, str] | None) -> None:
        self._names = names

    def __call__(self, rows: Iterator[Record]) -> Iterable[Row]:
        """Rows of TRANSLATED from the rows that `translated` puts in order."""
        names = _names_of(self._names)
        piece: Any = None
        told, batches = NOTHING_TOLD, Batches()
        for row in rows:
            if (row.application_run, row.piece) != piece:
                piece = following((row.application_run, row.piece), piece)
                told, batches = NOTHING_TOLD, Batches()
            if row.rank == _TOLD:
                for each in row.tolds:
                    told |= unpack_told(each)
                continue
            try:
                found = _understood(unpack_run(row.merged), told, batches, names, row)
            except UNUSABLE as error:
                found = _row(row, "unusable", f"{type(error).__name__}: {error}"[:1000])
            if found:
                yield found


def _understood(run: MergedRun, told: Told, batches: Batches, names: Names, row: Record) -> Row | None:
    """What a run says; nothing of a batch that stands here for others."""
    around = Around(told=told | told_by(run), names=names)
    if row.rank == _BATCH:
        batch = batch_of(run, around)
        if batch:
            batches.add(batch)
        return None
    known = around
    if batches and names_no_source(run):
        known = Around(told=around.told, batches=batches.around(run), names=names)
    names_any = run.inputs or run.outputs
    datasets = Datasets.of(run, known) if run.ended == "COMPLETE" and names_any else None
    word = translate(run, known, timed_out=bool(row.timed_out), datasets=datasets)
    fates = fates_in(run, known)
    found = _row(row, *_word(word))
    found["fates"] = pack(fates) if fates else None
    found["said"] = [_saying(each) for each in word.processes] if isinstance(word, Lineage) else []
    if datasets:
        found["schemas"] = [(each.asset.qualified_name, each.written, each.columns) for each in schemas_in(datasets)]
    return found


def _saying(content: Process) -> tuple[str, str, bool, bytes]:
    data = pack(content)
    return content.qualified_name, digest(data), bool(content.wanted), data


def _word(word: Any) -> tuple[str, str | None]:
    if isinstance(word, Lineage):
        return "said", None
    return ("skipped" if isinstance(word, Skip) else "waiting"), word.reason


def _row(row: Record, word: str, reason: str | None) -> Row:
    return {
        "run_id": row.run_id,
        "application_run": row.application_run,
        "word": word,
        "reason": reason,
        "said": [],
        "schemas": [],
    }


@cache
def _names_of(told: tuple[str, str] | None) -> Names:
    """The names of a file (text and path), parsed once a worker. Raises Misconfigured."""
    return parse_names(*told) if told else BUILT_IN
