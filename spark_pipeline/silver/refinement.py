"""Silver: runs, what they say, and what of it lasts; only what was touched since the last step is made anew.

Which rows are touched is read from the tables themselves (the batch in which a row was last changed), never remembered
between stages: whoever is cut off between two tables goes on from what is there.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from spark_pipeline.engine.concurrency import together
from spark_pipeline.silver.affected_runs import around, needed, wanted
from spark_pipeline.silver.run_merging import merged_runs, touched_runs
from spark_pipeline.silver.staging_elimination import lasted
from spark_pipeline.silver.translation import translated
from spark_pipeline.tables.lake import Lake
from spark_pipeline.tables.schemas import ASSETS, COLUMN_EDGES, PROCESSES, RUNS, SAYINGS, SCHEMAS

_MOST_DAYS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What settings say of the meaning. `as_of` is the time that counts as now: without one nothing ends by silence.

    `names` are the text of a file of names and its path, `quiet` and `unseen` are the patience of adding up.
    """

    as_of: datetime | None = None
    end_timeout: timedelta = timedelta(minutes=360)
    quiet: timedelta = timedelta(minutes=60)
    unseen: timedelta = timedelta(days=7)
    names: tuple[str, str] | None = None
    with_indirect: bool = False

    @property
    def number(self) -> int:
        """A number that stands for all of this but the time: 0 for the defaults."""
        said = replace(self, as_of=None, names=(self.names[0], "") if self.names else None)
        return int(hashlib.sha256(repr(said).encode()).hexdigest()[:15], 16) if said != Meaning() else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined:
    """How many rows a step of silver changed."""

    runs: int
    processes: int


def refine(lake: Lake, meaning: Meaning, *, batch: int, since: int) -> Refined:
    """Bring silver up to what bronze holds: all that changed after the batch `since`."""
    runs = _refine_runs(lake, meaning, batch=batch, since=since)
    return Refined(runs=runs, processes=_refine_processes(lake, batch=batch, since=since))


def _refine_runs(lake: Lake, meaning: Meaning, *, batch: int, since: int) -> int:
    with lake.kept("runs_touched", touched_runs(lake, since)) as ids:
        stored = lake.read(RUNS)
        due = _due(stored, meaning)
        if ids.isEmpty() and (due is None or due.isEmpty()):
            return 0
        before = stored.join(ids, on="run_id", how="left_semi")
        with lake.kept("runs_merged", merged_runs(lake, ids, since, _days(before))) as merged:
            if not lake.exists(RUNS):
                return _translate(lake, meaning, merged, None, ids, batch=batch)
            with (
                lake.kept("runs_around", around(stored, ids, merged, due)) as near,
                lake.kept("runs_to_translate", wanted(near, merged, ids, due)) as asked,
                lake.kept("runs_needed", needed(near, merged, ids, asked)) as wide,
                lake.kept("runs_known", _known(stored, wide)) as known,
            ):
                runs = known.unionByName(merged)
                return _translate(lake, meaning, runs, asked, ids.unionByName(asked).distinct(), batch=batch)


_UNSAID = tuple(name for name in RUNS.names if name not in {"word", "reason", "fates", "batch"})
"""The columns of runs that do not come of their translation."""


def _known(stored: DataFrame, needed: DataFrame) -> DataFrame:
    """What is stored of these runs, as `merged_runs` tells it; of one that could not be merged the reason stays."""
    problem = f.when(f.col("merged").isNull(), f.col("reason"))
    weight = f.length("merged")
    own = stored.join(needed, on="run_id", how="left_semi")
    return own.select(*_UNSAID, problem.alias("problem"), weight.alias("weight"))


def _translate(
    lake: Lake, meaning: Meaning, runs: DataFrame, asked: DataFrame | None, scope: DataFrame, *, batch: int
) -> int:
    """Translate the runs that are `asked` for (None: all); `runs` has all of them, and those that tell them something.
    `scope` are the runs whose rows may change.
    """
    out = translated(
        lake.engine, runs, asked, as_of=meaning.as_of, end_timeout=meaning.end_timeout, names=meaning.names
    )
    with lake.kept("runs_translated", out) as said:
        own = runs if asked is None else runs.join(asked, on="run_id", how="left_semi")
        words = said.select("run_id", "word", "reason", "fates")
        fresh = own.join(words, on="run_id", how="left").select(
            *_UNSAID,
            "fates",
            f.coalesce("word", f.lit("unusable")).alias("word"),
            f.coalesce("reason", "problem").alias("reason"),
        )
        together(
            lake.engine,
            lambda: lake.put(SAYINGS, _sayings(said), batch=batch, scope=scope),
            lambda: lake.put(SCHEMAS, _schemas(said), batch=batch, scope=scope),
        )
        return lake.put(RUNS, fresh, batch=batch, scope=scope)


def _due(stored: DataFrame, meaning: Meaning) -> DataFrame | None:
    """The runs that have waited for their end for long enough."""
    if meaning.as_of is None:
        return None
    over = f.col("arrived") <= f.lit(meaning.as_of - meaning.end_timeout)
    return stored.where((f.col("word") == "waiting") & over).select("run_id")


def _days(known: DataFrame) -> Sequence[Any] | None:
    """The days on which what is known of these runs happened; None when there are too many to name."""
    days = known.select(f.explode("days")).distinct().limit(_MOST_DAYS + 1).collect()
    return sorted(row[0] for row in days) if len(days) <= _MOST_DAYS else None


def _sayings(said: DataFrame) -> DataFrame:
    each = said.select("run_id", "application_run", "first", "last", f.explode("said").alias("one"))
    return each.select("run_id", "application_run", "first", "last", "one.*")


def _schemas(said: DataFrame) -> DataFrame:
    each = said.select("run_id", f.col("last").alias("at"), f.explode("schemas").alias("one"))
    return each.select("run_id", "at", "one.*")


def _refine_processes(lake: Lake, *, batch: int, since: int) -> int:
    """What lasts of what applications said, of all of which anything was touched."""
    fresh_runs = lake.read(RUNS).where(f.col("batch") > since).select("application_run")
    fresh_words = lake.read(SAYINGS).where(f.col("batch") > since).select("application_run")
    with lake.kept("applications_touched", fresh_runs.union(fresh_words).distinct()) as applications:
        if applications.isEmpty():
            return 0
        fates = lake.read(RUNS).where("fates is not null").join(applications, "application_run", "left_semi")
        sayings = lake.live(SAYINGS).join(applications, "application_run", "left_semi")
        fates = fates.select("application_run", "fates")
        with lake.kept("processes_said", lasted(lake.engine, sayings, fates)) as found:
            _, _, processes = together(
                lake.engine,
                lambda: lake.put(COLUMN_EDGES, _edges(found), batch=batch, scope=applications),
                lambda: lake.put(ASSETS, _assets(lake, found), batch=batch),
                lambda: lake.put(PROCESSES, found.drop("assets"), batch=batch, scope=applications),
            )
            return processes


def _edges(found: DataFrame) -> DataFrame:
    """By application run: an edge is masked or parsed only where all that tell it say so."""
    each = found.where("not gone").select(
        "application_run", "process", "first", "last", f.explode("columns").alias("e")
    )
    rows = each.select("application_run", "process", "first", "last", "e.*")
    return rows.groupBy("application_run", "process", "input", "input_column", "output", "output_column", "kind").agg(
        f.min("masked").alias("masked"),
        f.min("parsed").alias("parsed"),
        f.sort_array(f.array_distinct(f.flatten(f.collect_set("how")))).alias("how"),
        f.min("first").alias("first"),
        f.max("last").alias("last"),
    )


def _assets(lake: Lake, found: DataFrame) -> DataFrame:
    """The data sets, of several spellings the first, with all their tables' names that were ever heard."""
    fresh = found.select(f.explode("assets").alias("one")).select("one.*").distinct()
    names = ["type", "qualified_name"]
    old = lake.read(ASSETS).join(fresh.select(*names).distinct(), on=names, how="left_semi")
    both = old.select(*fresh.columns).unionByName(fresh)
    spelling = f.min(f.struct("namespace", "name"))
    return both.groupBy(*names).agg(
        spelling["namespace"].alias("namespace"),
        spelling["name"].alias("name"),
        f.sort_array(f.array_distinct(f.flatten(f.collect_set("tables")))).alias("tables"),
    )
