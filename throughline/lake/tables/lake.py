"""The lake's Delta tables: read them, and change only the rows that differ, one commit for each change."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from shared.errors import ThroughlineError
from throughline.lake.engine.opening import engine_of
from throughline.lake.engine.port import Engine
from throughline.lake.engine.session import has_delta, prepare
from throughline.lake.tables.declaration import LakeColumn, Table, struct
from throughline.lake.tables.schemas import PROGRESS

_MOST_PARTITIONS = 400
"""At most this many partition values are listed in a condition."""

_ASIDE = "_aside"
_OPERATION = "_operation"

_ADD, _PUT, _END = "add", "put", "end"
"""The operation for a row: insert, update, or end."""


class LakeError(ThroughlineError):
    """The lake cannot do this; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lake:
    """The Delta tables below `root`, a path or URL that the session can write."""

    session: SparkSession
    root: str
    engine: Engine = field(init=False, repr=False, compare=False)
    stored: dict[str, frozenset[str]] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The columns of stored tables, by their places. They are looked up seldom: a run made a thousand such calls."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "engine", engine_of(self.session))

    @classmethod
    def at(cls, session: SparkSession, root: str) -> "Lake":
        """The lake below this root. Raises LakeError where the session cannot write Delta tables."""
        if not has_delta(session):
            raise LakeError(
                "This Spark session has no Delta Lake, in which the tables are stored. Add its package "
                "(spark.jars.packages) and extension (spark.sql.extensions) to the session: see docs/reference/lake.md"
            )
        return cls(session=prepare(session), root=root.rstrip("/"))

    def read(self, table: Table) -> DataFrame:
        """All rows, inactive ones too; columns that the stored table lacks are null, and a table that does not exist is
        empty.
        """
        if not self.exists(table):
            return self.session.createDataFrame([], table.struct())
        lacking, types = self._lacking(table), table.struct()
        stored = self.engine.load(
            self._path(table), struct(column for column in table.columns if column not in lacking)
        )
        null = {
            lake_column.name: f.lit(None).cast(types[lake_column.name].dataType).alias(lake_column.name)
            for lake_column in lacking
        }
        return stored.select(*(null.get(name, f.col(name)) for name in table.names))

    def live(self, table: Table) -> DataFrame:
        """The active rows."""
        rows = self.read(table)
        return rows.where("active") if table.marks else rows

    def changed(self, table: Table, since: int) -> DataFrame:
        """The rows that changed after the batch `since`, inactive ones too."""
        return self.read(table).where(f.col("batch") > since)

    def exists(self, table: Table) -> bool:
        """Whether the table exists."""
        return self.engine.exists(f"{self._path(table)}/_delta_log")

    def require(self, table: Table) -> None:
        """Raise LakeError where the table does not exist: no run of the lake has ended here."""
        if not self.exists(table):
            raise LakeError(
                f"there is no lake in {self.root}: make one with `throughline lake run ARCHIVE --lake {self.root}`"
            )

    def put(
        self,
        table: Table,
        fresh_rows: DataFrame,
        *,
        batch: int,
        scope: DataFrame | None = None,
        is_complete: bool = False,
        compared: Sequence[str] = (),
        replacing: str = "true",
    ) -> int:
        """Make the table hold these rows, and write only the differences. Returns how many rows changed.

        `fresh_rows` has the table's columns without `batch` and `active`, each key once. Rows in `scope` (some of the
        table's columns, with the values to consider), or all rows of a `is_complete` table, that `fresh_rows` lacks are
        ended.
        `compared`: the columns that decide whether a row differs, by default all; not allowed where rows end.
        `replacing`: the SQL condition on these, and on what is stored of them (`was_…`), under which a row that differs
        is written.
        """
        fresh_rows = _dressed(fresh_rows, table, batch)
        if not self.exists(table):
            return self._create(table, fresh_rows)
        old, partitions = self._old(table, fresh_rows, scope)
        rows = _changes(
            table, fresh_rows, old, batch, compared, replacing=replacing, ends=is_complete or scope is not None
        )
        if compared:
            return self._put_compared(table, fresh_rows, rows.select(*table.keys, _OPERATION), partitions)
        with self.kept(f"changes_of_{table.name}", rows) as changes:
            count, number_known = _counted(changes)
            if count:
                self._change(table, changes, partitions, adds=not number_known)
        return count

    def _put_compared(self, table: Table, fresh_rows: DataFrame, changes: DataFrame, partitions: Sequence[Any]) -> int:
        """The same where few columns decide what changes: only keys are stored temporarily, and rows that are all new,
        the usual case, are written directly.
        """
        with self.kept(f"changes_of_{table.name}", changes) as known_by_key:
            count, number_known = _counted(known_by_key)
            if not count:
                return 0
            if not number_known and count == fresh_rows.count():
                self._change(table, fresh_rows.withColumn(_OPERATION, f.lit(_ADD)), partitions, adds=True)
                return count
            rows = fresh_rows.join(known_by_key, on=list(table.keys))
            with self.kept(f"rows_of_{table.name}", rows) as changed_rows:
                self._change(table, changed_rows, partitions, adds=not number_known)
        return count

    @contextmanager
    def kept(self, name: str, rows: DataFrame) -> Iterator[DataFrame]:
        """Store rows temporarily in the lake's own storage, for rows that are read several times: a lost worker repeats
        nothing, and later plans stay small. The `name` is the same in every run, so the lake's own lineage stays the
        same.
        """
        place = f"{self.root}/{_ASIDE}/{name}"
        rows.write.mode("overwrite").option("compression", "snappy").parquet(place)
        try:
            yield self.engine.aside(place, rows)
        finally:
            self.engine.delete(place)

    def tidy(self) -> None:
        """Delete the temporary rows of interrupted runs. One run at a time works on a lake."""
        self.engine.delete(f"{self.root}/{_ASIDE}")

    def progress(self, step: str) -> int:
        """The last completed batch."""
        row = self.read(PROGRESS).where(f.col("step") == step).head()
        return int(row["batch"]) if row else 0

    def note(self, step: str, batch: int) -> None:
        """Record this batch as completed."""
        row = self.session.createDataFrame([(step, batch)], PROGRESS.struct())
        if not self.exists(PROGRESS):
            self._create(PROGRESS, row)
            return
        self._change(PROGRESS, row.withColumn(_OPERATION, f.lit(_PUT)), [], adds=False)

    def _old(self, table: Table, fresh_rows: DataFrame, scope: DataFrame | None) -> tuple[DataFrame, list[Any]]:
        """The rows that may change, and the values of the partition column that they can have, where they are few."""
        old, partitions = self.read(table), []
        if table.partition and scope is None:
            values = fresh_rows.select(table.partition).distinct().limit(_MOST_PARTITIONS + 1).collect()
            partitions = [row[0] for row in values] if len(values) <= _MOST_PARTITIONS else []
            if partitions:
                old = old.where(f.col(table.partition).isin(partitions))
        if scope is not None:
            old = old.join(scope.distinct(), on=scope.columns, how="left_semi").select(*table.names)
        return old, partitions

    def _create(self, table: Table, fresh_rows: DataFrame) -> int:
        schema = table.struct()
        dressed = self.engine.nullable(fresh_rows, schema).select(
            *(f.col(lake_field.name).alias(lake_field.name, metadata=lake_field.metadata) for lake_field in schema)
        )
        place = self._path(table)
        writer = dressed.write.format("delta").mode("error").option("description", table.comment)
        (writer.partitionBy(table.partition) if table.partition else writer).save(place)
        count = self._created(place)
        return int(self.read(table).count()) if count is None else count

    def _created(self, place: str) -> int | None:
        """The number of rows in the first commit of a table, if it says so (Delta's protocol, `commitInfo`). Letting
        Delta count them took as long as writing a small table.
        """
        for (line,) in self.session.read.text(f"{place}/_delta_log/{0:020d}.json").collect():
            metrics = json.loads(line).get("commitInfo", {}).get("operationMetrics") or {}
            if "numOutputRows" in metrics:
                return int(metrics["numOutputRows"])
        return None

    def _change(self, table: Table, changes: DataFrame, partitions: Sequence[Any], *, adds: bool) -> None:
        """`adds`: all rows are new, so the merge need not look for them in the table."""
        if not adds:
            self._merge(table, changes, partitions)
            return
        self._evolve(table)
        rows = changes.select(*table.names)
        if table.partition:  # else every task would write a file into every partition
            rows = rows.repartition(table.partition)
        rows.write.format("delta").mode("append").save(self._path(table))

    def _merge(self, table: Table, changes: DataFrame, partitions: Sequence[Any]) -> None:
        self._evolve(table)
        view = f"throughline_changes_of_{table.name}"
        changes.createOrReplaceTempView(view)
        conditions = [f"t.`{key}` = s.`{key}`" for key in table.keys]
        if partitions:
            conditions.append(f"t.`{table.partition}` IN ({', '.join(_literal(value) for value in partitions)})")
        pairs = ", ".join(f"t.`{name}` = s.`{name}`" for name in table.names)
        self.session.sql(
            f"MERGE INTO delta.`{self._path(table)}` t USING {view} s "  # noqa: S608 - the names are constants
            f"ON {' AND '.join(conditions)} "
            f"WHEN MATCHED AND s.{_OPERATION} = '{_END}' THEN DELETE "
            f"WHEN MATCHED THEN UPDATE SET {pairs} "
            f"WHEN NOT MATCHED AND s.{_OPERATION} != '{_END}' THEN INSERT ({', '.join(f'`{n}`' for n in table.names)}) "
            f"VALUES ({', '.join(f's.`{name}`' for name in table.names)})"
        )

    def _lacking(self, table: Table) -> list[LakeColumn]:
        """The columns that the stored table lacks. It only gains columns: one that was seen once is there."""
        if not self.stored.get(table.place, frozenset()).issuperset(table.names):
            columns = self.session.read.format("delta").load(self._path(table)).columns
            self.stored[table.place] = frozenset(name.lower() for name in columns)
        return [column for column in table.columns if column.name not in self.stored[table.place]]

    def _evolve(self, table: Table) -> None:
        """Add the columns that the stored table lacks. Raises LakeError where the engine cannot (Sail)."""
        lacking = self._lacking(table)
        if not lacking:
            return
        place, names = self._path(table), ", ".join(lake_column.name for lake_column in lacking)
        added = ", ".join(
            f"{lake_column.name} {lake_column.type} COMMENT '{lake_column.comment}'" for lake_column in lacking
        )
        try:
            self.session.sql(f"ALTER TABLE delta.`{place}` ADD COLUMNS ({added})")
        except PySparkException as error:
            raise LakeError(
                f"The table at {place} lacks {names}, and this engine cannot add columns ({error}): "
                "run the lake once with Spark (--engine spark)"
            ) from error

    def _path(self, table: Table) -> str:
        return f"{self.root}/{table.place}"


def _dressed(fresh_rows: DataFrame, table: Table, batch: int) -> DataFrame:
    """With the table's columns in its types and order."""
    if table.batched:
        fresh_rows = fresh_rows.withColumn("batch", f.lit(batch))
    if table.marks:
        fresh_rows = fresh_rows.withColumn("active", f.lit(True))
    return fresh_rows.select(
        *(
            f.col(lake_field.name).cast(lake_field.dataType).alias(lake_field.name)
            for lake_field in table.struct().fields
        )
    )


def _changes(
    table: Table,
    fresh_rows: DataFrame,
    old: DataFrame,
    batch: int,
    compared: Sequence[str],
    *,
    replacing: str,
    ends: bool,
) -> DataFrame:
    """The differences: rows of the table with the operation for each."""
    plain = [name for name in table.names if name not in table.keys]
    looked_at = compared or [name for name in plain if name != "batch"]
    needed = plain if ends else [name for name in plain if name in looked_at]
    was = old.select(*table.keys, *(f.col(name).alias(f"was_{name}") for name in needed), f.lit(1).alias("was"))
    joined_rows = fresh_rows.withColumn("now", f.lit(1)).join(was, on=list(table.keys), how="full" if ends else "left")
    differs: Column = reduce(
        lambda differs_so_far, other: differs_so_far | other,
        (~f.col(name).eqNullSafe(f.col(f"was_{name}")) for name in looked_at),
    ) & f.expr(replacing)
    is_gone = f.col("now").isNull()
    is_ended = is_gone & f.col("was_active") if table.marks else is_gone
    wanted_column = f.col("was").isNull() | (f.col("now").isNotNull() & differs) | (is_ended if ends else f.lit(False))
    changed = joined_rows.where(wanted_column)
    put = f.when(f.col("was").isNull(), _ADD).otherwise(_PUT)
    if not ends:
        return changed.select(*table.names, put.alias(_OPERATION))
    values = {name: f.when(is_gone, f.col(f"was_{name}")).otherwise(f.col(name)) for name in plain}
    if table.batched:
        values["batch"] = f.lit(batch).cast("bigint")
    if table.marks:
        values["active"] = f.col("now").isNotNull()
    operation = put if table.marks else f.when(is_gone, _END).otherwise(put)
    return changed.select(
        *table.keys, *(value.alias(name) for name, value in values.items()), operation.alias(_OPERATION)
    )


def _counted(changes: DataFrame) -> tuple[int, int]:
    """The number of changes, and how many of them concern existing rows."""
    count, number_known = changes.select(f.count("*"), f.count_if(f.col(_OPERATION) != _ADD)).collect()[0]
    return int(count), int(number_known)


def _literal(value: Any) -> str:
    return f"DATE'{value.isoformat()}'" if hasattr(value, "isoformat") else f"'{value}'"
