"""Gold, `coverage` and `schema_changes`: how much of what runs is known, and how data sets changed."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.window import Window

from spark_pipeline.lake import Lake
from spark_pipeline.schemas import ASSETS, COVERAGE, CURRENT, IMPACT, RUNS, SCHEMA_CHANGES, SCHEMAS

_PLACEHOLDER = "DataSet"
"""The type of what no rule of naming knows."""

_COUNTS = ("assets", "linked", "written", "columns", "traced", "runs", "failed", "unended", "unusable")
_MOVED = ("said", "waiting", "unusable")
_FAILED = ("FAIL", "ABORT")


def write_coverage(lake: Lake, *, batch: int) -> int:
    """Make `coverage` anew; how many rows have changed."""
    with lake.kept("assets_covered", _assets(lake)) as assets:
        runs = _runs(lake)
        levels = [
            _level(assets, "asset", f.col("qualified_name"), several=False),
            _level(assets, "store", f.col("store")),
            _level(runs, "owner", f.col("job_namespace")),
            _level(runs, "job", f.concat_ws("/", "job_namespace", "application")),
            _all(assets, runs),
        ]
        rows = levels[0]
        for each in levels[1:]:
            rows = rows.unionByName(each)
        ratio = f.when(f.col("columns") > 0, f.col("traced") / f.col("columns")).when(
            f.col("assets") > 0, f.col("linked") / f.col("assets")
        )
        return lake.put(COVERAGE, rows.withColumn("score", ratio), batch=batch, whole=True)


def latest_schemas(lake: Lake) -> DataFrame:
    """The columns of each data set as the latest run saw them: one that wrote it, if any did."""
    newest = f.max_by("fields", f.struct(f.col("written"), f.col("at"), f.col("run_id")))
    return lake.live(SCHEMAS).groupBy("qualified_name").agg(newest.alias("fields"))


def _assets(lake: Lake) -> DataFrame:
    """A row for each data set, with counts of 0 and 1, and those of its columns."""
    current = lake.live(CURRENT)
    sides = [
        current.select(f.explode(side).alias("one"), f.lit(written).alias("written")).select("one.*", "written")
        for side, written in (("inputs", False), ("outputs", True))
    ]
    linked = (
        sides[0]
        .union(sides[1])
        .groupBy("qualified_name")
        .agg(f.max("written").alias("written"), f.min("type").alias("linked_type"))
    )
    direct = current.select(f.explode("columns").alias("e")).where("e.kind = 'DIRECT'")
    told = direct.select(f.col("e.output").alias("qualified_name"), f.col("e.output_column").alias("column"))
    none = current.select(f.explode("sourceless").alias("one")).select(f.col("one.output"), f.col("one.column"))
    traced = told.union(none).distinct()
    fields = latest_schemas(lake).select("qualified_name", f.explode("fields.name").alias("column"))
    known = fields.unionByName(traced).distinct()
    columns = known.join(traced.withColumn("traced", f.lit(1)), ["qualified_name", "column"], "left").groupBy(
        "qualified_name"
    )
    counted = columns.agg(f.count("*").alias("known"), f.count("traced").alias("sources"))
    named = (
        lake.read(ASSETS)
        .select("qualified_name", "type")
        .unionByName(latest_schemas(lake).select("qualified_name", f.lit(None).cast("string").alias("type")))
    )
    every = named.groupBy("qualified_name").agg(f.min("type").alias("type"))
    both = every.join(linked, "qualified_name", "left").join(counted, "qualified_name", "left")
    written = f.coalesce("written", f.lit(False))
    kind = f.coalesce("linked_type", "type", f.lit(""))
    number = {
        "assets": f.lit(1),
        "linked": f.col("linked_type").isNotNull().cast("bigint"),
        "written": written.cast("bigint"),
        "columns": f.when(written, f.coalesce("known", f.lit(0))).otherwise(0),
        "traced": f.when(written, f.coalesce("sources", f.lit(0))).otherwise(0),
    }
    scheme = f.regexp_extract("qualified_name", r"^([A-Za-z0-9+.-]+://[^/?]*)", 1)
    return both.select(
        "qualified_name",
        f.when(scheme != "", scheme).otherwise(kind).alias("store"),
        *(value.cast("bigint").alias(name) for name, value in number.items()),
        *(f.lit(0).cast("bigint").alias(name) for name in _COUNTS if name not in number),
        f.col("linked_type").isNull().alias("orphan"),
        (kind == _PLACEHOLDER).alias("placeholder"),
    )


def _runs(lake: Lake) -> DataFrame:
    """A row for each run that moved data or should have, with counts of 0 and 1."""
    failed = f.col("ended").isin(*_FAILED)
    number = {
        "runs": f.lit(1),
        "failed": failed.cast("bigint"),
        "unended": f.col("ended").isNull().cast("bigint"),
        "unusable": (f.col("word") == "unusable").cast("bigint"),
    }
    moved = lake.read(RUNS).where(f.col("word").isin(*_MOVED) | f.coalesce(failed, f.lit(False)))
    return moved.select(
        "job_namespace",
        f.coalesce("application", "job").alias("application"),
        *(value.cast("bigint").alias(name) for name, value in number.items()),
        *(f.lit(0).cast("bigint").alias(name) for name in _COUNTS if name not in number),
        f.lit(False).alias("orphan"),
        f.lit(False).alias("placeholder"),
    )


def _level(rows: DataFrame, level: str, name: Column, *, several: bool = True) -> DataFrame:
    flags = {each: f.lit(False) if several else f.max(each) for each in ("orphan", "placeholder")}
    return (
        rows.withColumn("of", name)
        .groupBy("of")
        .agg(
            *(f.sum(each).alias(each) for each in _COUNTS),
            *(value.alias(each) for each, value in flags.items() if not several),
        )
        .withColumns({each: value for each, value in flags.items() if several})
        .withColumn("level", f.lit(level))
        .withColumnRenamed("of", "name")
    )


def _all(assets: DataFrame, runs: DataFrame) -> DataFrame:
    columns = [*_COUNTS, "orphan", "placeholder"]
    return _level(assets.select(*columns).unionByName(runs.select(*columns)), "all", f.lit(""))


def write_schema_changes(lake: Lake, *, batch: int) -> int:
    """Make `schema_changes` anew; how many rows have changed. Data sets that are written are judged by those who write
    them, for who reads may look at some columns only.
    """
    rows = lake.live(SCHEMAS)
    ever = f.max("written").over(Window.partitionBy("qualified_name"))
    order = Window.partitionBy("qualified_name").orderBy("at", "run_id")
    seen = rows.withColumn("ever", ever).where("written = ever").withColumn("was", f.lag("fields").over(order))
    changed = seen.where("was is not null and was != fields")
    keys = ["qualified_name", "at", "run_id", "column"]
    before, after = (
        changed.select(*keys[:3], f.explode(side).alias("one"))
        .groupBy(*keys[:3], f.col("one.name").alias("column"))
        .agg(f.min("one.type").alias(name))
        for side, name in (("was", "before"), ("fields", "after"))
    )
    each = before.join(after, keys, "full")
    kind = f.when(f.col("before").isNull(), "added").when(f.col("after").isNull(), "removed").otherwise("retyped")
    differing = each.where(~f.col("before").eqNullSafe(f.col("after"))).withColumn("change", kind)
    hit = lake.read(IMPACT).groupBy(f.col("source").alias("qualified_name"), f.col("source_column").alias("column"))
    counts = hit.agg(f.count("*").alias("downstream"))
    found = differing.join(counts, ["qualified_name", "column"], "left").fillna(0, ["downstream"])
    return lake.put(SCHEMA_CHANGES, found, batch=batch, whole=True)
