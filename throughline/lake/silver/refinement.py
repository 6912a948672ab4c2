"""Silver: runs and their contributions. A step recomputes only what new events affect.

The rows to recompute are found from the tables themselves (each row has the batch of its last change), so a step that
was interrupted between two tables continues correctly.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from shared.model import OPAQUE
from throughline.lake.engine.port import together
from throughline.lake.silver.affected_runs import runs_nearby, runs_to_read, runs_to_translate
from throughline.lake.silver.run_merging import NOT_TRANSLATED, merged_runs, touched_runs
from throughline.lake.silver.staging_elimination import without_staging
from throughline.lake.silver.translation import translated
from throughline.lake.tables.lake import Lake
from throughline.lake.tables.schemas import ASSETS, COLUMN_EDGES, CONTRIBUTIONS, RUN_CONTRIBUTIONS, RUNS, SCHEMAS

_MAX_DAYS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """The settings that decide what events mean. `as_of` is the time that counts as now; without it no run times out.

    `names` is the text of a file of naming rules and its path; `quiet` and `unseen` are the supersession policy of
    `aggregate`.
    """

    as_of: datetime | None = None
    end_timeout: timedelta = timedelta(minutes=360)
    quiet: timedelta = timedelta(minutes=60)
    unseen: timedelta = timedelta(days=7)
    names: tuple[str, str] | None = None
    with_indirect: bool = False

    @property
    def number(self) -> int:
        """A number that identifies these settings without the time: 0 for the defaults."""
        timeless = replace(self, as_of=None, names=(self.names[0], "") if self.names else None)
        return int(hashlib.sha256(repr(timeless).encode()).hexdigest()[:15], 16) if timeless != Meaning() else 0


def refine(lake: Lake, meaning: Meaning, *, batch: int, since: int) -> dict[str, int]:
    """Update silver from all that changed in bronze after the batch `since`. Returns the numbers of changed rows of
    runs and of their contributions to processes.
    """
    runs = _refine_runs(lake, meaning, batch=batch, since=since)
    return {"runs": runs, "processes": _refine_processes(lake, batch=batch, since=since)}


def _refine_runs(lake: Lake, meaning: Meaning, *, batch: int, since: int) -> int:
    with lake.kept("runs_touched", touched_runs(lake, since)) as ids:
        stored = lake.read(RUNS)
        due_rows = _due(stored, meaning)
        if ids.isEmpty() and (due_rows is None or due_rows.isEmpty()):
            return 0
        rows_before = stored.join(ids, on="run_id", how="left_semi")
        with lake.kept("runs_merged", merged_runs(lake, ids, since, _days(rows_before))) as merged:
            if not lake.exists(RUNS):
                return _translate(lake, meaning, merged, None, ids, batch=batch)
            with (
                lake.kept("runs_nearby", runs_nearby(stored, ids, merged, due_rows)) as nearby,
                lake.kept("runs_to_translate", runs_to_translate(nearby, merged, ids, due_rows)) as runs_asked,
                lake.kept("runs_to_read", runs_to_read(nearby, merged, ids, runs_asked)) as wide,
                lake.kept("runs_known", _known(stored, wide)) as known_rows,
            ):
                runs = known_rows.unionByName(merged)
                return _translate(lake, meaning, runs, runs_asked, ids.unionByName(runs_asked).distinct(), batch=batch)


_NOT_TRANSLATED = tuple(lake_column.name for lake_column in NOT_TRANSLATED)


def _known(stored: DataFrame, needed: DataFrame) -> DataFrame:
    """The stored rows of these runs as `merged_runs` has them. A run that could not be merged keeps its reason."""
    problem = f.when(f.col("merged").isNull(), f.col("reason"))
    weight = f.length("merged")
    own_rows = stored.join(needed, on="run_id", how="left_semi")
    return own_rows.select(*_NOT_TRANSLATED, problem.alias("problem"), weight.alias("weight"))


def _translate(
    lake: Lake, meaning: Meaning, runs: DataFrame, runs_asked: DataFrame | None, scope: DataFrame, *, batch: int
) -> int:
    """Translate the `runs_asked` runs (None: all). `runs` holds these and those that give them context. Rows of the
    runs in `scope` may change. Returns the number of changed rows of `runs`.
    """
    out = translated(
        lake.engine, runs, runs_asked, as_of=meaning.as_of, end_timeout=meaning.end_timeout, names=meaning.names
    )
    with lake.kept("runs_translated", out) as fresh_rows:
        own_runs = runs if runs_asked is None else runs.join(runs_asked, on="run_id", how="left_semi")
        outcomes = fresh_rows.select("run_id", "outcome", "reason", "lifecycle_events", "columns_by")
        rows = own_runs.join(outcomes, on="run_id", how="left").select(
            *_NOT_TRANSLATED,
            "lifecycle_events",
            "columns_by",
            f.coalesce("outcome", f.lit("unusable")).alias("outcome"),
            f.coalesce("reason", "problem").alias("reason"),
        )
        together(
            lake.engine,
            lambda: lake.put(RUN_CONTRIBUTIONS, _run_contributions(fresh_rows), batch=batch, scope=scope),
            lambda: lake.put(SCHEMAS, _schemas(fresh_rows), batch=batch, scope=scope),
        )
        return lake.put(RUNS, rows, batch=batch, scope=scope)


def _due(stored: DataFrame, meaning: Meaning) -> DataFrame | None:
    """The runs whose end timeout is over; None where no time counts as now."""
    if meaning.as_of is None:
        return None
    is_over = f.col("arrived") <= f.lit(meaning.as_of - meaning.end_timeout)
    return stored.where((f.col("outcome") == "waiting") & is_over).select("run_id")


def _days(known_rows: DataFrame) -> Sequence[Any] | None:
    """The days of the known events of these runs; None when there are more than _MAX_DAYS."""
    days = known_rows.select(f.explode("days")).distinct().limit(_MAX_DAYS + 1).collect()
    return sorted(row[0] for row in days) if len(days) <= _MAX_DAYS else None


def _run_contributions(translated: DataFrame) -> DataFrame:
    rows = translated.select("run_id", "application_run", "first", "last", f.explode("contributions").alias("one"))
    return rows.select("run_id", "application_run", "first", "last", "one.*")


def _schemas(translated: DataFrame) -> DataFrame:
    run_schemas = translated.select("run_id", f.col("last").alias("at"), f.explode("schemas").alias("one"))
    return run_schemas.select("run_id", "at", "one.*")


def _refine_processes(lake: Lake, *, batch: int, since: int) -> int:
    """Contributions, without staging, of the applications in which anything changed. Returns how many rows changed."""
    fresh_runs = lake.changed(RUNS, since).select("application_run")
    fresh_contributions = lake.changed(RUN_CONTRIBUTIONS, since).select("application_run")
    with lake.kept("applications_touched", fresh_runs.union(fresh_contributions).distinct()) as applications:
        if applications.isEmpty():
            return 0
        contributions_before = lake.live(RUN_CONTRIBUTIONS).join(applications, "application_run", "left_semi")
        known_runs = lake.read(RUNS).where("lifecycle_events is not null").select("application_run", "lifecycle_events")
        lifecycle_events = known_runs.join(applications, "application_run", "left_semi")
        with lake.kept(
            "contributions_found", without_staging(lake.engine, contributions_before, lifecycle_events)
        ) as contribution_rows:
            _, _, processes = together(
                lake.engine,
                lambda: lake.put(COLUMN_EDGES, _edges(contribution_rows), batch=batch, scope=applications),
                lambda: lake.put(ASSETS, _assets(lake, contribution_rows), batch=batch),
                lambda: lake.put(CONTRIBUTIONS, contribution_rows.drop("assets"), batch=batch, scope=applications),
            )
            return processes


def _edges(contribution_rows: DataFrame) -> DataFrame:
    """Column edges by application run. An edge is masked or parsed only if it is so in every contribution with it, and
    opaque by the rule of `union_edges`.
    """
    edge_rows = contribution_rows.where("not eliminated").select(
        "application_run", "process", "first", "last", f.explode("columns").alias("e")
    )
    rows = edge_rows.select("application_run", "process", "first", "last", "e.*")
    exact = ~f.array_contains("how", OPAQUE)
    says = f.max(f.struct((~f.col("masked")).alias("plain"), exact.alias("exact")))
    steps = f.sort_array(f.array_distinct(f.flatten(f.collect_set("how"))))
    return rows.groupBy("application_run", "process", "input", "input_column", "output", "output_column", "kind").agg(
        f.min("masked").alias("masked"),
        f.min("parsed").alias("parsed"),
        f.when(says["exact"], f.array_remove(steps, OPAQUE)).otherwise(steps).alias("how"),
        f.min("first").alias("first"),
        f.max("last").alias("last"),
    )


def _assets(lake: Lake, contribution_rows: DataFrame) -> DataFrame:
    """The data sets, of several spellings the first, with all their tables' names that events gave."""
    fresh_assets = contribution_rows.select(f.explode("assets").alias("one")).select("one.*").distinct()
    names = ["type", "qualified_name"]
    old = lake.read(ASSETS).join(fresh_assets.select(*names).distinct(), on=names, how="left_semi")
    all_assets = old.select(*fresh_assets.columns).unionByName(fresh_assets)
    spelling = f.min(f.struct("namespace", "name"))
    return all_assets.groupBy(*names).agg(
        spelling["namespace"].alias("namespace"),
        spelling["name"].alias("name"),
        f.sort_array(f.array_distinct(f.flatten(f.collect_set("tables")))).alias("tables"),
    )
