"""Gold, `coverage` and `schema_changes`: how complete lineage is, which tests fail, and how data sets changed."""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.window import Window

from shared.model import OPAQUE
from shared.translation.run.facts import BY_PLAN, WITH_UPPER_BOUNDS
from throughline.lake.engine.port import union_of
from throughline.lake.gold.current_lineage import linked_assets
from throughline.lake.silver.quality import last_tests
from throughline.lake.tables.lake import Lake
from throughline.lake.tables.schemas import ASSETS, COVERAGE, CURRENT, IMPACT, RUNS, SCHEMA_CHANGES, SCHEMAS

_PLACEHOLDER = "DataSet"
"""The type of data sets that no naming rule matches."""

_COUNTS = tuple(lake_column.name for lake_column in COVERAGE.content if lake_column.type == "bigint")
_FLAGS = tuple(lake_column.name for lake_column in COVERAGE.content if lake_column.type == "boolean")
"""Of data sets only."""

_MOVED = ("translated", "waiting", "unusable")
_FAILED = ("FAIL", "ABORT")


def write_coverage(lake: Lake, *, batch: int) -> int:
    """Recompute `coverage`. Returns how many rows changed."""
    counts = {name: f.coalesce(f.sum(name), f.lit(0)) for name in _COUNTS}
    flags = {name: f.max((f.col("level") == "asset") & f.col(name)) for name in _FLAGS}
    ratio = f.when(f.col("columns") > 0, f.col("traced") / f.col("columns")).when(
        f.col("assets") > 0, f.col("linked") / f.col("assets")
    )
    with lake.kept("schemas_newest", _newest(lake)) as newest:
        assets = _at(_assets(lake, newest), asset="qualified_name", store="store")
        runs = _at(_runs(lake), owner="job_namespace", job=f.concat_ws("/", "job_namespace", "application"))
        levels = union_of(assets, runs).groupBy("level", "name")
        rows = levels.agg(*(value.alias(name) for name, value in (counts | flags).items()))
        return lake.put(COVERAGE, rows.withColumn("score", ratio), batch=batch, is_complete=True)


def _newest(lake: Lake) -> DataFrame:
    """When each data set was last seen: by a run that wrote it, if there is one. These few rows are stored temporarily,
    so that an engine reads the columns only of the runs of those times.
    """
    times = lake.live(SCHEMAS).groupBy("qualified_name", "written").agg(f.max("at").alias("at"))
    newest = times.groupBy("qualified_name").agg(f.max(f.struct("written", "at")).alias("newest"))
    return newest.select("qualified_name", "newest.*")


def _latest(lake: Lake, newest: DataFrame) -> DataFrame:
    """The columns of each data set as they were seen then, by the last run of several."""
    rows = lake.live(SCHEMAS).join(newest, ["qualified_name", "written", "at"], "left_semi")
    return rows.groupBy("qualified_name").agg(f.max_by("fields", "run_id").alias("fields"))


def _assets(lake: Lake, newest: DataFrame) -> DataFrame:
    """A row for each data set, with counts of 0 and 1, and those of its columns. The parts are united and grouped once:
    joins would shuffle each part. A data set that no lineage has counts with its tests alone.
    """
    assets = lake.read(ASSETS).select("qualified_name", "type", f.lit(True).alias("named"))
    linked = linked_assets(lake).select("qualified_name", f.col("type").alias("linked_type"), "written")
    joined_rows = (
        union_of(assets, linked, _columns(lake, newest), _tests(lake))
        .groupBy("qualified_name")
        .agg(
            f.min("type").alias("type"),
            f.max("named").alias("named"),
            f.min("linked_type").alias("linked_type"),
            f.max("written").alias("written"),
            f.sum("known").alias("known"),
            f.sum("source").alias("sources"),
            f.sum("opaque").alias("opaque"),
            f.sum("test").alias("tests"),
            f.sum("failing").alias("failing"),
        )
        .where("named or tests > 0")
    )
    named = f.col("named").eqNullSafe(f.lit(True))
    written_column = f.col("written").eqNullSafe(f.lit(True))
    kind = f.coalesce("linked_type", "type", f.lit(_PLACEHOLDER))
    number = {
        "assets": named,
        "linked": f.col("linked_type").isNotNull(),
        "written": written_column,
        "columns": f.when(written_column, f.col("known")),
        "traced": f.when(written_column, f.col("sources")),
        "opaque": f.when(written_column, f.col("opaque")),
        "tests": f.col("tests"),
        "failing": f.col("failing"),
    }
    scheme = f.regexp_extract("qualified_name", r"^([A-Za-z0-9+.-]+://[^/?]*)", 1)
    return joined_rows.select(
        "qualified_name",
        f.when(scheme != "", scheme).otherwise(kind).alias("store"),
        *(value.cast("bigint").alias(name) for name, value in number.items()),
        (named & f.col("linked_type").isNull()).alias("orphan"),
        (named & (kind == _PLACEHOLDER)).alias("placeholder"),
    )


def _tests(lake: Lake) -> DataFrame:
    """A row for each test of a data set."""
    failing = (~f.col("success")).cast("int").alias("failing")
    return last_tests(lake).select("qualified_name", f.lit(1).alias("test"), failing)


def _columns(lake: Lake, newest: DataFrame) -> DataFrame:
    """A row for each column that is known, has known sources (or none, as is known), or an upper bound of them."""
    current = lake.live(CURRENT)
    edges = current.select(f.explode("columns").alias("one")).where("one.kind = 'DIRECT'")
    sourceless = current.select(f.explode("sourceless").alias("one"))
    named = f.col("one.output").alias("qualified_name")
    opaque = f.coalesce(f.array_contains("one.how", OPAQUE).cast("int"), f.lit(0)).alias("opaque")
    sourced = union_of(
        edges.select(named, f.col("one.output_column").alias("column"), opaque),
        sourceless.select(named, "one.column", f.lit(0).alias("opaque")),
    )
    fields = _latest(lake, newest).select(
        "qualified_name", f.explode_outer("fields.name").alias("column"), f.lit(True).alias("named")
    )
    return (
        union_of(fields, sourced)
        .groupBy("qualified_name", "column")
        .agg(f.max("named").alias("named"), f.max("opaque").alias("opaque"))
        .withColumn("source", 1 - f.col("opaque"))
        .withColumn("known", f.col("column").isNotNull().cast("int"))
        .drop("column")
    )


def _runs(lake: Lake) -> DataFrame:
    """A row for each job with counts of the runs that moved data or should have."""
    failed = reduce(lambda column, other: column | other, (f.col("ended").eqNullSafe(outcome) for outcome in _FAILED))
    translated = f.col("outcome").eqNullSafe("translated")
    number = {
        "runs": f.lit(1),
        "failed": failed,
        "unended": f.col("ended").isNull(),
        "unusable": f.col("outcome").eqNullSafe("unusable"),
        "exact": translated & f.col("columns_by").eqNullSafe(BY_PLAN),
        "opaque_runs": translated & f.col("columns_by").eqNullSafe(WITH_UPPER_BOUNDS),
        "by_listener": translated & f.col("columns_by").eqNullSafe("listener"),
        "rdd_runs": translated & f.col("columns_by").eqNullSafe("rdd"),
    }
    moved = lake.read(RUNS).where(f.col("outcome").isin(*_MOVED) | failed)
    jobs = moved.groupBy("job_namespace", f.coalesce("application", "job").alias("application"))
    return jobs.agg(*(f.sum(value.cast("bigint")).alias(name) for name, value in number.items()))


def _at(rows: DataFrame, **levels: Column | str) -> DataFrame:
    """Each row once for each of these levels, under its name there, and once for all."""
    rows = rows.withColumn("level", f.explode(f.array(*(f.lit(level) for level in (*levels, "all")))))
    named = f.lit("")
    for level, name in levels.items():
        named = f.when(f.col("level") == level, f.col(name) if isinstance(name, str) else name).otherwise(named)
    return rows.withColumn("name", named)


_CHANGE = ("qualified_name", "at", "run_id", "column", "change", "before", "after")


def write_schema_changes(lake: Lake, *, batch: int, since: int) -> int:
    """Update `schema_changes` from silver and `impact`. Returns how many rows changed. Changes are recomputed for data
    sets with rows after the batch `since`, the number of dependants for all.
    """
    rows = lake.live(SCHEMAS)
    if lake.exists(SCHEMA_CHANGES):
        news = lake.changed(SCHEMAS, since).select("qualified_name").distinct()
        with lake.kept("schemas_touched", news) as touched_assets:
            rows = rows.join(touched_assets, "qualified_name", "left_semi")
            untouched_rows = (
                lake.read(SCHEMA_CHANGES).select(*_CHANGE).join(touched_assets, "qualified_name", "left_anti")
            )
            return _put_changes(lake, untouched_rows.unionByName(_differing(rows)), batch=batch)
    return _put_changes(lake, _differing(rows), batch=batch)


def _put_changes(lake: Lake, rows: DataFrame, *, batch: int) -> int:
    hit = lake.read(IMPACT).groupBy(f.col("source").alias("qualified_name"), f.col("source_column").alias("column"))
    counts = hit.agg(f.count("*").alias("downstream"))
    fresh_rows = rows.join(counts, ["qualified_name", "column"], "left").fillna(0, ["downstream"])
    return lake.put(SCHEMA_CHANGES, fresh_rows, batch=batch, is_complete=True)


def _differing(rows: DataFrame) -> DataFrame:
    """The differences between each row of `schemas` and the next of its data set; `fresh` has all active rows of these.
    For data sets that are written only the writers' rows count, since a reader may read only some columns.
    """
    last_written = f.max("written").over(Window.partitionBy("qualified_name"))
    order = Window.partitionBy("qualified_name").orderBy("at", "run_id")
    seen_rows = (
        rows.withColumn("ever", last_written).where("written = ever").withColumn("was", f.lag("fields").over(order))
    )
    changed = seen_rows.where("was is not null and was != fields")
    keys = ["qualified_name", "at", "run_id", "column"]
    rows_before, rows_after = (
        changed.select(*keys[:3], f.explode(side).alias("one"))
        .groupBy(*keys[:3], f.col("one.name").alias("column"))
        .agg(f.min("one.type").alias(name))
        for side, name in (("was", "before"), ("fields", "after"))
    )
    joined_rows = rows_before.join(rows_after, keys, "full")
    kind = f.when(f.col("before").isNull(), "added").when(f.col("after").isNull(), "removed").otherwise("retyped")
    differing = joined_rows.where(~f.col("before").eqNullSafe(f.col("after"))).withColumn("change", kind)
    return differing.select(*_CHANGE)
