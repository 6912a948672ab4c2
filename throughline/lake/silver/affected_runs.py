"""Which runs a step has to translate: those with new events, and those whose context these events change.

The decision reads only a few columns, and only of the applications with new events. The other columns are read of the
selected runs alone, so a step that touches a hundredth of the runs does not read all of them.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

_NARROW = ("run_id", "application_run", "first", "last", "has_context", "may_enclose", "lacks_sources", "context")
_BEFORE = "interval 2 seconds"
"""How long before its START's time a batch may have begun that has no START of its own."""


def narrow(runs: DataFrame) -> DataFrame:
    """The columns of runs that the decision needs."""
    return runs.select(*_NARROW)


def runs_nearby(stored: DataFrame, ids: DataFrame, merged: DataFrame, due_rows: DataFrame | None) -> DataFrame:
    """The stored runs of the same applications as the touched ones (`ids`, and `merged` as they are now) and as those
    that are `due_rows`.
    """
    known_rows = ids.unionByName(due_rows).distinct() if due_rows is not None else ids
    rows_before = stored.join(known_rows, on="run_id", how="left_semi").select("application_run")
    touched_applications = merged.select("application_run").union(rows_before).distinct()
    return narrow(stored).join(touched_applications, on="application_run", how="left_semi")


def runs_to_translate(nearby: DataFrame, merged: DataFrame, ids: DataFrame, due_rows: DataFrame | None) -> DataFrame:
    """The ids of the runs to translate: touched, due, of an application whose context changed, possibly inside a
    stream's batch that was touched, or ended at once with a touched one, which may have or get its plan.
    """
    former_rows = nearby.join(ids, on="run_id", how="left_semi")
    runs = _current(nearby, merged, ids)
    touched_applications = merged.select("application_run").union(former_rows.select("application_run")).distinct()
    context_now, context_then = (
        rows.where("has_context")
        .join(touched_applications, on="application_run", how="left_semi")
        .groupBy("application_run")
        .agg(f.md5(f.concat_ws("|", f.sort_array(f.collect_set(f.hex("context"))))).alias(name))
        for rows, name in ((runs, "now"), (nearby, "then"))
    )
    changed = context_now.join(context_then, on="application_run", how="full").where(
        ~f.col("now").eqNullSafe(f.col("then"))
    )
    spans = (
        merged.where("may_enclose")
        .select("application_run", "first", "last")
        .union(former_rows.where("may_enclose").select("application_run", "first", "last"))
        .groupBy("application_run")
        .agg(f.min("first").alias("since"), f.max("last").alias("until"))
    )
    inside = (
        runs.where("lacks_sources")
        .join(spans, on="application_run")
        .where((f.col("last") >= f.col("since") - f.expr(_BEFORE)) & (f.col("last") <= f.col("until")))
    )
    ends = merged.select("application_run", "last").union(former_rows.select("application_run", "last")).distinct()
    affected_runs = (
        merged.select("run_id")
        .union(runs.join(changed, on="application_run", how="left_semi").select("run_id"))
        .union(inside.select("run_id"))
        .union(runs.join(ends, on=["application_run", "last"], how="left_semi").select("run_id"))
    )
    return (affected_runs.union(due_rows) if due_rows is not None else affected_runs).distinct()


def runs_to_read(nearby: DataFrame, merged: DataFrame, ids: DataFrame, selected: DataFrame) -> DataFrame:
    """The ids of the stored runs whose other columns are needed too, without the touched ones: the `selected` runs, and
    the runs that give these context or may enclose them.
    """
    runs = _current(nearby, merged, ids)
    own_rows = runs.join(selected, on="run_id", how="left_semi")
    since = own_rows.groupBy("application_run").agg(
        f.min(f.when(f.col("lacks_sources"), f.col("last"))).alias("lacking_since")
    )
    other_runs = nearby.join(ids, on="run_id", how="left_anti")
    context = (
        other_runs.where("has_context or may_enclose")
        .join(since, on="application_run")
        .where(f.col("has_context") | (f.col("last") >= f.col("lacking_since")))
    )
    selected_runs = other_runs.join(selected, on="run_id", how="left_semi")
    return context.select("run_id").union(selected_runs.select("run_id")).distinct()


def _current(nearby: DataFrame, merged: DataFrame, ids: DataFrame) -> DataFrame:
    """The nearby runs as they are after this step's merging."""
    return nearby.join(ids, on="run_id", how="left_anti").select(*_NARROW).unionByName(narrow(merged))
