"""Which runs a step concerns: those that were touched, and those that what these tell concerns.

All is decided on the few columns that say so, of the applications that were touched alone; only of the runs that are
found here is all the rest read. A step that touches a hundredth of the runs must not read what all others are made of.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

_NARROW = ("run_id", "application_run", "first", "last", "speaks", "streams", "alone", "told")
_BEFORE = "interval 2 seconds"
"""How long before its START's time a batch may have begun that has no START of its own."""


def narrow(runs: DataFrame) -> DataFrame:
    """The columns of runs by which is decided what concerns them."""
    return runs.select(*_NARROW)


def around(stored: DataFrame, ids: DataFrame, merged: DataFrame, due: DataFrame | None) -> DataFrame:
    """What is stored of the applications of runs that were touched (`ids`, and `merged` as they are now) or are due."""
    known = ids.unionByName(due).distinct() if due is not None else ids
    before = stored.join(known, on="run_id", how="left_semi").select("application_run")
    touched = merged.select("application_run").union(before).distinct()
    return narrow(stored).join(touched, on="application_run", how="left_semi")


def wanted(stored: DataFrame, merged: DataFrame, ids: DataFrame, due: DataFrame | None) -> DataFrame:
    """The runs to translate (by run_id). `stored` is what is `around`."""
    before = stored.join(ids, on="run_id", how="left_semi")
    runs = _now(stored, merged, ids)
    touched = merged.select("application_run").union(before.select("application_run")).distinct()
    told_now, told_then = (
        each.where("speaks")
        .join(touched, on="application_run", how="left_semi")
        .groupBy("application_run")
        .agg(f.md5(f.concat_ws("|", f.sort_array(f.collect_set(f.hex("told"))))).alias(name))
        for each, name in ((runs, "now"), (stored, "then"))
    )
    changed = told_now.join(told_then, on="application_run", how="full").where(~f.col("now").eqNullSafe(f.col("then")))
    spans = (
        merged.where("streams")
        .select("application_run", "first", "last")
        .union(before.where("streams").select("application_run", "first", "last"))
        .groupBy("application_run")
        .agg(f.min("first").alias("since"), f.max("last").alias("until"))
    )
    inside = (
        runs.where("alone")
        .join(spans, on="application_run")
        .where((f.col("last") >= f.col("since") - f.expr(_BEFORE)) & (f.col("last") <= f.col("until")))
    )
    found = (
        merged.select("run_id")
        .union(runs.join(changed, on="application_run", how="left_semi").select("run_id"))
        .union(inside.select("run_id"))
    )
    return (found.union(due) if due is not None else found).distinct()


def needed(stored: DataFrame, merged: DataFrame, ids: DataFrame, wanted: DataFrame) -> DataFrame:
    """The runs (by run_id) of which all is needed, without those that were touched: the `wanted`, and those that tell
    them something, which are what speaks and the batches of streams (see `translated`).
    """
    runs = _now(stored, merged, ids)
    own = runs.join(wanted, on="run_id", how="left_semi")
    since = own.groupBy("application_run").agg(f.min(f.when(f.col("alone"), f.col("last"))).alias("alone_since"))
    rest = stored.join(ids, on="run_id", how="left_anti")
    tell = (
        rest.where("speaks or streams")
        .join(since, on="application_run")
        .where(f.col("speaks") | (f.col("last") >= f.col("alone_since")))
    )
    asked = rest.join(wanted, on="run_id", how="left_semi")
    return tell.select("run_id").union(asked.select("run_id")).distinct()


def _now(stored: DataFrame, merged: DataFrame, ids: DataFrame) -> DataFrame:
    """The runs of these applications as they are now."""
    return stored.join(ids, on="run_id", how="left_anti").select(*_NARROW).unionByName(narrow(merged))
