"""`throughline lake coverage`: where lineage is missing, which quality tests fail, and how complete the catalog's
documentation is.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shared.catalog.port import Documents
from shared.completeness import DEFAULT_RULES, Part, ScoreRules, parse_score_rules
from shared.texts import suggestion
from throughline.cli.commands.lake.lake_session import ROOT, EngineOption, Root, opened_lake
from throughline.cli.commands.lake.rows import show_rows
from throughline.cli.context.parsed_file import parsed_file
from throughline.cli.context.target import HOME, Home, of_catalog, parts_of, reported
from throughline.cli.ui.console import counted, fail, note, out, print_json, tracked
from throughline.cli.ui.options import AsJson, Wide
from throughline.cli.ui.tables import print_table
from throughline.lake.engine_choice import EngineName

if TYPE_CHECKING:
    from throughline.lake.tables.lake import Lake


def coverage(
    context: typer.Context,
    *,
    level: Annotated[str, typer.Option(metavar="LEVEL", help="asset, store, owner, job or all")] = "store",
    completeness: Annotated[
        bool, typer.Option("--completeness", help="Show the last measured score of documentation")
    ] = False,
    catalog: Annotated[bool, typer.Option("--catalog", help="Measure the score first, from the catalog")] = False,
    rules: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --catalog: a TOML file of weights (docs/reference/lake.md)"),
    ] = None,
    root: Root = str(ROOT),
    engine: EngineOption = EngineName.auto,
    wide: Wide = False,
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Show how much of each store, owner, job or data set has lineage, worst first, and failed quality tests; or how
    completely the catalog documents the data sets.

    --level job and --level owner also count the Spark runs that are exact by plan, those whose plan gives some columns
    as upper bounds (opaque), and those that have only the listener's columns, because their job runs without
    throughline-plan.jar.

        throughline lake coverage --level store
        throughline lake coverage --level job
        throughline lake coverage --catalog
    """
    if level not in _LEVELS:
        fail(f"--level {level} does not exist: choose one of {', '.join(_LEVELS)}.{suggestion(level, _LEVELS)}", code=2)
    if rules and not catalog:
        fail("--rules needs --catalog, which measures", code=2)
    score_rules = parsed_file(rules, parse_score_rules) if rules else DEFAULT_RULES
    documents = of_catalog(parts_of(context, home).documents, "can't be read in bulk") if catalog else None
    with opened_lake(root, engine=engine) as lake:
        if documents:
            _measure(documents, lake, score_rules)
        if documents or completeness:
            _show_completeness(lake, wide=wide, as_json=as_json)
            return
        from pyspark.sql import functions as f  # noqa: PLC0415 - see opened_lake

        from throughline.lake.tables.schemas import COVERAGE  # noqa: PLC0415 - the same

        rows = lake.read(COVERAGE).where(f"level = '{level}'").drop("batch", "level")
        order = [f.desc("by_listener"), f.desc("runs")] if level in _OF_RUNS else [f.asc("score")]
        show_rows(rows.orderBy(*order, "name"), _NARROW.get(level, _DATA_SETS), wide=wide, as_json=as_json)
        if not as_json and level not in _OF_RUNS:
            _show_failed_tests(lake, wide=wide)


MAX_FAILED_TESTS = 20
_OF_RUNS = ("owner", "job")
_DATA_SETS = ("name", "assets", "linked", "columns", "traced", "opaque", "failing", "score")
_RUNS = ("name", "runs", "failed", "exact", "opaque_runs", "by_listener", "rdd_runs")
_NARROW = {**dict.fromkeys(_OF_RUNS, _RUNS), "all": (*_DATA_SETS, *_RUNS[1:])}
_LEVELS = ("asset", "store", "owner", "job", "all")


def _show_failed_tests(lake: "Lake", *, wide: bool) -> None:
    """Print the quality tests whose last result is a failure, the latest first."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - see opened_lake

    from throughline.lake.silver.quality import failed_tests  # noqa: PLC0415 - the same
    from throughline.lake.tables.encoding import moment  # noqa: PLC0415 - the same

    failed = failed_tests(lake).withColumn("at", f.unix_micros("at"))
    rows = failed.orderBy(f.desc("at"), "qualified_name", "column", "name").limit(MAX_FAILED_TESTS + 1).collect()
    if not rows:
        return
    out.print("\nFailed quality tests:")
    table = [
        [row["qualified_name"], row["column"], row["name"], row["job"], f"{moment(row['at']):%Y-%m-%d %H:%M}"]
        for row in rows[:MAX_FAILED_TESTS]
    ]
    print_table(("data set", "column", "test", "job", "failed"), table, wide=wide)
    if len(rows) > MAX_FAILED_TESTS:
        note("more", f"only the latest {MAX_FAILED_TESTS} are shown: the table silver/quality has all")


def _measure(documents: Documents, lake: "Lake", rules: ScoreRules) -> None:
    """Read the catalog, and write `gold/completeness`. Nothing is written where the catalog does not answer for all
    data sets.
    """
    from throughline.lake.gold.completeness import (  # noqa: PLC0415 - see opened_lake
        linked_datasets,
        write_completeness,
    )

    datasets = tuple(linked_datasets(lake))
    keys = [dataset.key for dataset in datasets]
    with reported("Nothing was written: measure again when the catalog answers"):
        texts = dict(tracked(documents.documentation(keys), "reading the catalog", total=len(keys)))
    write_completeness(lake, datasets, texts, measured_at=datetime.now(UTC), rules=rules)


_TREND = ("measured", "data sets", "score", "described", "columns", "owned", "tagged", "traced", "fresh")
_COUNTS = ("described", "with_columns", "owned", "tagged")


def _show_completeness(lake: "Lake", *, wide: bool, as_json: bool) -> None:
    """Print the trend and the data sets whose documentation would raise the score most."""
    from throughline.lake.gold.completeness import most_gain, trend  # noqa: PLC0415 - see opened_lake

    measured, worst = trend(lake), most_gain(lake)
    if not measured:
        fail("the documentation of this lake was never measured: run `throughline lake coverage --catalog`")
    last = measured[-1]
    if as_json:
        print_json({"score": last["score"], "trend": measured, "raise_most": worst})
        return
    out.print(
        f"The catalog documents {counted(last['assets'], 'data set')} to {last['score']:.0%}; it has {last['held']:,}."
    )
    rows = [
        [
            f"{row['at']:%Y-%m-%d %H:%M}",
            f"{row['assets']:,}",
            f"{row['score']:.3f}",
            *(_percent(row[name] / row["assets"] if row["assets"] else None) for name in _COUNTS),
            _percent(row["traced"]),
            _percent(row["fresh"]),
        ]
        for row in measured
    ]
    print_table(_TREND, rows, numbers=_TREND[1:], wide=wide)
    if not worst:
        note("complete", "no data set lacks a part of its documentation")
        return
    out.print("\nThese would raise the score most:")
    titles = ("data set", "score", "readers", "lacks")
    print_table(titles, [*map(_lacking, worst)], numbers=("score", "readers"), wide=wide)


def _lacking(row: Mapping[str, Any]) -> list[str]:
    lacks = ", ".join(Part(lack).words for lack in row["lacks"])
    missing = lacks if row["held"] else f"not in the catalog: {lacks}"
    return [row["qualified_name"], f"{row['score']:.3f}", f"{row['readers']:,}", missing]


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"
