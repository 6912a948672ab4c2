"""`throughline lake`: the tables that Spark makes of the archive, on this machine."""

from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from cli.commands.lake.lake_session import ROOT, Cores, EngineOption, Memory, Root, opened_lake
from cli.commands.lake.lake_settings import meaning_for, refuse_other_meaning
from cli.context.names_file import NamesFile
from cli.context.target import HOME, Home, target
from cli.ui.console import fail, note, out, plain, print_json, progress_bar
from shared.errors import CatalogUnavailable, StorageUnavailable
from shared.maintenance.import_processes import backfill
from shared.publishing.catalog_write import Published
from spark_pipeline.engine_choice import EngineName

app = typer.Typer(name="lake", help="Lineage as tables, made by Spark of the archive.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="The machine-readable form")]


@app.command("run")
def run(
    sources: Annotated[list[str], typer.Argument(help="Folders or URLs: the archive, events, files of JSON lines")],
    *,
    root: Root = str(ROOT),
    tags: Annotated[str, typer.Option(help="A CSV file of qualified_name, column, tag")] = "",
    as_of: Annotated[str, typer.Option(help="The time that counts as now; `never`: silence ends nothing")] = "now",
    names: NamesFile = None,
    cores: Cores = 2,
    memory: Memory = "2g",
    engine: EngineOption = EngineName.auto,
    report: Annotated[str, typer.Option(help="A receiver: tell it what this run reads and writes")] = "",
    key: Annotated[str, typer.Option(envvar="THROUGHLINE_KEY", help="That receiver's function key")] = "",
    as_json: Json = False,
    home: Home = HOME,
) -> None:
    """Bring all tables up to what the sources hold; what was read before is not read again.

    Stopped anywhere, it is finished by the next run. Where nothing is new, nothing is written. Names and times are
    those of the functions where the environment names a Throughline, or one runs on this machine; else the defaults.

    \b
    throughline lake run build/estate --lake build/lake
    throughline lake run archive/ events/ --tags personal.csv
    throughline lake run archive/ --report http://127.0.0.1:7071
    """  # noqa: D301 - \b keeps the lines of the examples apart
    places = _places(sources)
    opened = opened_lake(root, engine=engine, sources=places, cores=cores, memory=memory, report=report, key=key)
    with opened as lake:
        from spark_pipeline.pipeline import STAGES, Order, Stage, run  # noqa: PLC0415 - see opened_lake

        order = Order(sources=places, meaning=replace(meaning_for(names, home), as_of=_moment(as_of)), tags=tags)
        with progress_bar(transient=True) as bar:
            task = bar.add_task(STAGES[0], total=len(STAGES))

            waiting = list(STAGES)

            def tell(stage: Stage) -> None:
                waiting.remove(stage.name)
                bar.update(task, advance=1, description=waiting[0] if waiting else "")

            done = run(lake, order, note=tell)
    if as_json:
        print_json([asdict(stage) for stage in done])
        return
    table = Table("stage", "changed", "seconds")
    for stage in done:
        counts = ", ".join(f"{count:,} {name}" for name, count in stage.counts.items() if count)
        table.add_row(stage.name, counts or "nothing", f"{stage.seconds:.1f}")
    out.print(table)


def _places(sources: list[str]) -> tuple[str, ...]:
    return tuple(each if "://" in each else str(Path(each).resolve()) for each in sources)


def _moment(text: str) -> datetime | None:
    if text == "never":
        return None
    if text == "now":
        return datetime.now(UTC)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        fail(f"--as-of {text} is no time: write it as 2026-11-21T13:00Z, or `now`, or `never`", code=2)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@app.command("impact")
def impact(
    asset: Annotated[str, typer.Argument(help="The qualified name of a data set, or the end of it")],
    column: Annotated[str, typer.Argument(help="Its column")],
    *,
    root: Root = str(ROOT),
    engine: EngineOption = EngineName.auto,
    as_json: Json = False,
) -> None:
    """What depends on a column: what breaks when it goes.

    \b
    throughline lake impact /data/sales/orders amount
    """  # noqa: D301 - \b keeps the lines of the examples apart
    with opened_lake(root, engine=engine) as lake:
        from spark_pipeline.gold.impact import column_edges, columns_of, downstream  # noqa: PLC0415 - see opened_lake

        known = columns_of(column_edges(lake))
        assets = [str(each) for each in known.nodes.assets if each == asset or each.endswith(asset)]
        if len(assets) != 1:
            fail(f"{len(assets)} data sets with lineage are called so: name one, by its whole qualified name", code=2)
        found = downstream(known, assets[0], column)
    if as_json:
        print_json([asdict(each) for each in found])
        return
    table = Table("steps", "data set", "column", "value", "process")
    for each in found:
        table.add_row(
            str(each.depth),
            plain(each.asset),
            plain(each.column or "(all rows)"),
            "yes" if each.direct else "",
            plain(each.process),
        )
    out.print(table if found else "nothing depends on it")


@app.command("coverage")
def coverage(
    *,
    level: Annotated[str, typer.Option(help="asset, store, owner, job or all")] = "store",
    root: Root = str(ROOT),
    engine: EngineOption = EngineName.auto,
    as_json: Json = False,
) -> None:
    """How much of what runs has lineage, worst first.

    \b
    throughline lake coverage --level owner
    """  # noqa: D301 - \b keeps the lines of the examples apart
    with opened_lake(root, engine=engine) as lake:
        from spark_pipeline.tables.schemas import COVERAGE  # noqa: PLC0415 - see opened_lake

        rows = lake.read(COVERAGE).where(f"level = '{level}'") if level.isalpha() else None
        if rows is None:
            fail(f"--level {level} is none: asset, store, owner, job or all", code=2)
        _show(rows.orderBy("score", "name").drop("batch", "level"), as_json=as_json)


@app.command("changes")
def changes(
    *,
    asset: Annotated[str, typer.Option(help="Only data sets whose qualified name ends so")] = "",
    root: Root = str(ROOT),
    engine: EngineOption = EngineName.auto,
    as_json: Json = False,
) -> None:
    """Columns that came, went or changed their type, the latest first, and how many columns depend on each.

    \b
    throughline lake changes --asset /sales/orders
    """  # noqa: D301 - \b keeps the lines of the examples apart
    with opened_lake(root, engine=engine) as lake:
        from pyspark.sql import functions as f  # noqa: PLC0415 - see opened_lake

        from spark_pipeline.tables.schemas import SCHEMA_CHANGES  # noqa: PLC0415 - the same

        rows = lake.read(SCHEMA_CHANGES).where(f.col("qualified_name").endswith(asset))
        rows = rows.orderBy(f.desc("at"), "qualified_name", "column")
        _show(rows.drop("batch", "run_id"), as_json=as_json)


_SHOWN = 1_000


def _show(rows: Any, *, as_json: bool) -> None:
    found = [row.asDict() for row in rows.limit(_SHOWN).collect()]
    if as_json:
        print_json([{name: _plain(value) for name, value in row.items()} for row in found])
        return
    table = Table(*(name.replace("_", " ") for name in rows.columns))
    for row in found:
        table.add_row(*("" if value is None else plain(_plain(value)) for value in row.values()))
    out.print(table)
    if len(found) == _SHOWN:
        note("cut", f"only the first {_SHOWN} rows are shown")


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return round(value, 3) if isinstance(value, float) else value


@app.command("compact")
def compact(*, root: Root = str(ROOT), cores: Cores = 2, memory: Memory = "2g", as_json: Json = False) -> None:
    """Put the small files together that runs have left: every later run reads fewer. By Spark, with Delta.

    Once a day or a week is enough, while no run works on the lake. What is replaced is kept for a week, for those who
    still read it.

    \b
    throughline lake compact --lake build/lake
    """  # noqa: D301 - \b keeps the lines of the examples apart
    with (
        opened_lake(root, engine=EngineName.spark, cores=cores, memory=memory) as lake,
        progress_bar(transient=True) as bar,
    ):
        from spark_pipeline.tables.compaction import Compacted  # noqa: PLC0415 - see opened_lake
        from spark_pipeline.tables.compaction import compact as compact_tables  # noqa: PLC0415 - the same
        from spark_pipeline.tables.schemas import LAKE  # noqa: PLC0415 - see opened_lake

        task = bar.add_task("tables", total=len(LAKE))

        def tell(done: Compacted) -> None:
            bar.update(task, advance=1, description=done.table)

        done = compact_tables(lake, note=tell)
    if as_json:
        print_json([asdict(each) for each in done])
        return
    table = Table("table", "files", "now")
    for each in done:
        if each.files:
            table.add_row(each.table, f"{each.files:,}", f"{each.now:,}")
    out.print(table if table.row_count else "no small files")


@app.command("publish")
def publish(
    *,
    root: Root = str(ROOT),
    engine: EngineOption = EngineName.auto,
    plan: Annotated[bool, typer.Option("--plan", help="Only say how many processes there are")] = False,
    home: Home = HOME,
) -> None:
    """Write the current lineage to the catalog: to fill one that is new or was lost.

    What the catalog holds already is not sent; stopped anywhere, begin again. The functions go on beside it.

    \b
    throughline lake publish --plan
    throughline lake publish
    """  # noqa: D301 - \b keeps the lines of the examples apart
    parts = None if plan else target(home, writes=True)
    if parts and parts.publishing.shadow:
        note("shadow mode", "the catalog stays as it is: publish again when it is off")
        return
    with opened_lake(root, engine=engine) as lake, progress_bar(transient=True) as bar:
        from spark_pipeline.tables.encoding import unpack_process  # noqa: PLC0415 - see opened_lake
        from spark_pipeline.tables.schemas import CURRENT  # noqa: PLC0415 - see opened_lake

        rows = lake.live(CURRENT).orderBy("process").select("content")
        total = rows.count()
        if parts is None:
            out.print(f"{total:,} processes would be compared with the ledger")
            return
        refuse_other_meaning(lake, home)
        task = bar.add_task("processes", total=total)

        def tell(done: Published) -> None:
            bar.update(task, completed=done.written + done.unchanged + done.refused + done.postponed)

        processes = (unpack_process(bytes(row[0])) for row in rows.toLocalIterator())
        try:
            done = backfill(parts.storage, parts.catalog, parts.publishing, processes, note_done=tell)
        except (CatalogUnavailable, StorageUnavailable) as error:
            fail(f"{error}: what was written is on record, begin again later")
    out.print(
        f"{done.written:,} written, {done.unchanged:,} unchanged, {done.refused:,} refused, "
        f"{done.postponed:,} postponed"
    )
    if done.refused:
        fail(done.error)
