"""`throughline lake`: lineage as tables, made of the archive on this machine."""

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shared.classifying.attached import Classified, classifications_of, classified_entities
from shared.maintenance.publish_missing import import_processes
from shared.publishing.context import Published
from shared.texts import suggestion
from throughline.cli.commands.lake.coverage import coverage
from throughline.cli.commands.lake.lake_session import (
    ROOT,
    Cores,
    EngineOption,
    Memory,
    Root,
    meaning_for,
    opened_lake,
    refuse_other_meaning,
)
from throughline.cli.commands.lake.rows import show_rows
from throughline.cli.commands.lineage.document_source import marks_if_any
from throughline.cli.context.parsed_file import TextFile, names_in
from throughline.cli.context.target import HOME, Home, reported, target
from throughline.cli.ui.console import bar, counted, fail, note, out, print_json
from throughline.cli.ui.options import AsJson, Key, Plan, Wide, moment
from throughline.cli.ui.tables import print_table
from throughline.cli.ui.teaching import TeachingApp
from throughline.lake.engine_choice import EngineName

if TYPE_CHECKING:
    from throughline.lake.tables.lake import Lake


app = TeachingApp(help="Lineage as Delta tables, made of the archive: coverage, impact, changes of schemas.")


def run(
    sources: Annotated[
        list[str], typer.Argument(metavar="SOURCE", help="Folders or URLs of the archive, of events, or of JSON lines")
    ],
    *,
    root: Root = str(ROOT),
    tags: Annotated[str, typer.Option(metavar="FILE", help="A CSV file of qualified_name, column, tag")] = "",
    as_of: Annotated[
        str, typer.Option(metavar="TIME", help="The time to take as now, for timeouts; `never`: no run times out")
    ] = "now",
    names: TextFile = None,
    cores: Cores = 2,
    memory: Memory = "2g",
    engine: EngineOption = EngineName.auto,
    report: Annotated[str, typer.Option(metavar="URL", help="Report this run's own lineage to this receiver")] = "",
    key: Key = "",
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Update all tables from the sources; files that were read before are not read again.

    After an interruption the next run completes the update. If nothing is new, nothing is written. The functions'
    settings are used if the environment names a Throughline, or one runs on this machine; otherwise the defaults.

        throughline lake run build/estate --lake build/lake
        throughline lake run archive/ events/ --tags personal.csv
        throughline lake run archive/ --report http://127.0.0.1:7071
    """
    places = tuple(source if "://" in source else str(Path(source).resolve()) for source in sources)
    for place in places:
        if "://" not in place and not Path(place).exists():
            fail(f"no such folder: {place}. Nothing was done: correct the path of this source", code=2)
    names_in(names)  # its mistakes end the command before Spark starts
    if tags and "://" not in tags:
        _refuse_unusable_tags(tags)
    opened_session = opened_lake(
        root, engine=engine, sources=places, cores=cores, memory=memory, report=report, key=key, writes=True
    )
    with opened_session as lake:
        from throughline.lake.pipeline import STAGES, Order, Stage, run  # noqa: PLC0415 - see opened_lake

        order = Order(sources=places, meaning=replace(meaning_for(names, home), as_of=_as_of(as_of)), tags=tags)
        waiting = list(STAGES)
        with bar(waiting[0], len(waiting)) as update:

            def advance(stage: Stage) -> None:
                waiting.remove(stage.name)
                update(advance=1, description=waiting[0] if waiting else "")

            stages = run(lake, order, note=advance)
    if as_json:
        print_json(stages)
        return
    rows = []
    for stage in stages:
        counts = ", ".join(_changed(count, name) for name, count in stage.counts.items() if count)
        rows.append([stage.name, counts or "nothing", f"{stage.seconds:.1f}"])
    print_table(("stage", "changed", "seconds"), rows, numbers=("seconds",))


_TAGS = ("qualified_name", "column", "tag")


def _refuse_unusable_tags(path: str) -> None:
    """End the command where there is no CSV file whose first line names the columns of tags."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            header = next(csv.reader(file), [])
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        fail(f"{path} is no file of tags: {reason}", code=2)
    if lacking := [tag_name for tag_name in _TAGS if tag_name not in header]:
        fail(f"{path} is no file of tags: its first line lacks {', '.join(lacking)}", code=2)


def _changed(count: int, rows: str) -> str:
    """The number of changed rows of a kind: `1 file`, `2 files`; `quarantined` is no plural."""
    singular = rows.removesuffix("es") if rows.endswith("sses") else rows.removesuffix("s")
    return counted(count, singular) if singular != rows else f"{count:,} {rows}"


def _as_of(text: str) -> datetime | None:
    if text == "never":
        return None
    return datetime.now(UTC) if text == "now" else moment(text, "--as-of")


def impact(
    context: typer.Context,
    asset: Annotated[str, typer.Argument(help="The qualified name of a data set, or the end of it")],
    column: Annotated[str, typer.Argument(help="A column of that data set")],
    *,
    root: Root = str(ROOT),
    engine: EngineOption = EngineName.auto,
    wide: Wide = False,
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """List all columns that depend on a column: what breaks when it is removed. Each with its tags, and the
    classifications that `throughline classify apply` has attached to it.

    throughline lake impact /data/sales/orders amount
    """
    with opened_lake(root, engine=engine) as lake:
        from pyspark.sql import functions as f  # noqa: PLC0415 - see opened_lake

        from throughline.lake.gold.impact import column_edges, downstream  # noqa: PLC0415 - the same
        from throughline.lake.tables.schemas import ASSETS, SCHEMAS, TAGS  # noqa: PLC0415 - the same

        edges = column_edges(lake)
        ends = edges.select("input", "input_column").union(edges.select("output", "output_column"))
        names_by_asset: defaultdict[str, set[str]] = defaultdict(set)
        for asset_name, column_name in ends.distinct().collect():
            names_by_asset[asset_name].add(column_name)
        name = _one_asset(asset, sorted(names_by_asset))
        schemas = lake.live(SCHEMAS).where(f.col("qualified_name") == name).select("fields")
        names_in_schemas = {field["name"] for row in schemas.collect() for field in row[0]}
        _refuse_unknown_column(name, column, names_in_schemas | names_by_asset[name])
        columns = downstream(lake, name, column)
        types = {row["qualified_name"]: row["type"] for row in lake.read(ASSETS).collect()}
        tags = {(row["qualified_name"], row["column"], row["tag"]) for row in lake.read(TAGS).collect()}
    tags_of = _tags(tags, types, classified_entities(marks_if_any(context, home)))
    if as_json:
        print_json([{**asdict(affected), "tags": tags_of(affected.asset, affected.column)} for affected in columns])
    elif not columns:
        out.print(f"nothing depends on the column {column} of {name}", markup=False)
    else:
        rows = [
            [
                str(affected.depth),
                affected.asset,
                affected.column or "(all rows)",
                "maybe" if affected.opaque else "yes" if affected.direct else "",
                ", ".join(tags_of(affected.asset, affected.column)),
                affected.process,
            ]
            for affected in columns
        ]
        titles = ("steps", "data set", "column", "value", "tags", "process")
        print_table(titles, rows, numbers=("steps",), wide=wide, only_wide=1)


def _tags(
    tags: Iterable[tuple[str, str, str]], types: Mapping[str, str], classified: Classified
) -> Callable[[str, str], list[str]]:
    """A function that gives the tags of a column, and the classifications that are attached to it."""
    named: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for asset, column, tag in tags:
        named[asset, column].add(tag)

    def tags_of(asset: str, column: str) -> list[str]:
        own_classifications = (
            classifications_of(classified, types[asset], asset, column) if column and asset in types else frozenset()
        )
        return sorted(named.get((asset, column), set()) | own_classifications)

    return tags_of


def _one_asset(asset_name: str, asset_names: Sequence[str]) -> str:
    """The data set of this name, else the only one whose name ends so; ends the command where there is none."""
    fits = [name for name in asset_names if name.endswith(asset_name)]
    if asset_name in fits:
        return asset_name
    if len(fits) > 1:
        names = "".join(f"\n  {name}" for name in fits)
        fail(
            f"{len(fits)} data sets with lineage have a name that ends in {asset_name!r}: give one whole name of{names}"
        )
    if not fits:
        fail(f"no data set with lineage is called {asset_name!r}.{suggestion(asset_name, asset_names)}")
    return fits[0]


def _refuse_unknown_column(asset: str, column: str, column_names: Iterable[str]) -> None:
    """End the command where neither schema nor lineage of a data set has such a column."""
    columns = sorted(column_name for column_name in column_names if column_name)
    if column not in columns:
        nearest = suggestion(column, columns) or f" Its columns are {', '.join(columns) or 'not known'}."
        fail(f"{asset} has no column {column!r}.{nearest}")


def changes(
    *,
    asset: Annotated[str, typer.Option(metavar="NAME", help="Only data sets whose qualified name ends in this")] = "",
    root: Root = str(ROOT),
    engine: EngineOption = EngineName.auto,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """List columns that were added, removed or retyped, the latest first, and how many columns depend on each.

    throughline lake changes --asset /sales/orders
    """
    with opened_lake(root, engine=engine) as lake:
        from pyspark.sql import functions as f  # noqa: PLC0415 - see opened_lake

        from throughline.lake.tables.schemas import SCHEMA_CHANGES  # noqa: PLC0415 - the same

        table = lake.read(SCHEMA_CHANGES)
        rows = table.where(f.col("qualified_name").endswith(asset))
        if asset and not rows.limit(1).count():
            _refuse_unknown_asset(lake, asset)
        rows = rows.orderBy(f.desc("at"), "qualified_name", "column").drop("batch", "run_id")
        show_rows(rows, ("qualified_name", "at", "column", "change", "downstream"), wide=wide, as_json=as_json)


def _refuse_unknown_asset(lake: "Lake", asset: str) -> None:
    """End the command where no data set of the lake is called so: one without changes is none."""
    from throughline.lake.tables.schemas import COVERAGE  # noqa: PLC0415 - see opened_lake

    asset_names = [str(row[0]) for row in lake.read(COVERAGE).where("level = 'asset'").select("name").collect()]
    if not any(asset_name.endswith(asset) for asset_name in asset_names):
        fail(f"no data set is called {asset!r}.{suggestion(asset, asset_names)}")


def compact(*, root: Root = str(ROOT), cores: Cores = 2, memory: Memory = "2g", as_json: AsJson = False) -> None:
    """Compact the small files that runs have left, so that later runs read fewer. Needs Spark.

    Run it once a day or a week, while no `lake run` is active. Replaced files are kept for a week, for readers.

        throughline lake compact --lake build/lake
    """
    with opened_lake(root, engine=EngineName.spark, cores=cores, memory=memory, writes=True) as lake:
        from throughline.lake.tables.compaction import compact as compact_tables  # noqa: PLC0415 - see opened_lake
        from throughline.lake.tables.schemas import LAKE  # noqa: PLC0415 - see opened_lake

        with bar("tables", len(LAKE)) as update:
            compacted_tables = compact_tables(lake, note=lambda table: update(advance=1, description=table.table))
    if as_json:
        print_json(compacted_tables)
        return
    rows = [[table.table, f"{table.files:,}", f"{table.now:,}"] for table in compacted_tables if table.files]
    if rows:
        print_table(("table", "files before", "files now"), rows, numbers=("files before", "files now"))
    else:
        out.print("no small files")


def publish(
    *,
    root: Root = str(ROOT),
    engine: EngineOption = EngineName.auto,
    plan: Plan = False,
    home: Home = HOME,
) -> None:
    """Write the current lineage to the catalog: for a new catalog, or one that lost its content.

    Unchanged processes are not sent. After an interruption, run it again. The functions may keep running.

        throughline lake publish --plan
        throughline lake publish
    """
    parts = None if plan else target(home, writes=True)
    if parts and parts.publishing.shadow:
        note("shadow mode", "the catalog stays as it is: run this again when shadow mode is off")
        return
    with opened_lake(root, engine=engine) as lake:
        from throughline.lake.tables.encoding import unpack_process  # noqa: PLC0415 - see opened_lake
        from throughline.lake.tables.schemas import CURRENT  # noqa: PLC0415 - see opened_lake

        rows = lake.live(CURRENT).orderBy("process").select("content")
        total = rows.count()
        if parts is None:
            out.print(f"{total:,} processes would be compared with the ledger")
            return
        refuse_other_meaning(lake, home)
        processes = (unpack_process(bytes(row[0])) for row in rows.toLocalIterator())
        with (
            reported("What was written is on record: run the command again once it answers"),
            bar("processes", total) as update,
        ):

            def advance(published: Published) -> None:
                update(completed=published.written + published.unchanged + published.refused + published.postponed)

            noting = replace(parts, publishing=replace(parts.publishing, note=advance))
            done = import_processes(noting, processes)
    out.print(
        f"{done.written:,} written, {done.unchanged:,} unchanged, {done.refused:,} refused, "
        f"{done.postponed:,} postponed"
    )
    if done.refused:
        fail(done.error)


app.add("run", run)
app.add("impact", impact)
app.add("coverage", coverage)
app.add("changes", changes)
app.add("compact", compact)
app.add("publish", publish)
