"""`throughline lake`: the tables that Spark makes of the archive, on this machine."""

import contextlib
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from cli.console import fail, note, out, plain, print_json, progress_bar
from cli.engines import Asked, Engine, choose
from cli.names import NamesFile
from cli.target import HOME, Home, target
from local.java import NoJavaError, find_java
from local.spark import listener_configuration
from local.versions import SPARK_3, SPARK_4
from shared.errors import CatalogUnavailable, StorageUnavailable
from shared.pipeline import Published, backfill

if TYPE_CHECKING:
    from spark_pipeline.lake import Lake

app = typer.Typer(name="lake", help="Lineage as tables, made by Spark of the archive.", no_args_is_help=True)

ROOT = Path("build/lake")
Root = Annotated[str, typer.Option("--lake", help="The folder or URL of the tables")]
Json = Annotated[bool, typer.Option("--json", help="The machine-readable form")]
Cores = Annotated[int, typer.Option(min=1, help="How many cores Spark may use")]
Memory = Annotated[str, typer.Option(help="How much memory Spark's own process may use, as 2g")]


@contextlib.contextmanager
def _opened(
    root: str,
    *,
    engine: Engine,
    sources: Sequence[str] = (),
    cores: int = 2,
    memory: str = "2g",
    delta: bool = True,
    report: str = "",
    key: str = "",
) -> "Iterator[Lake]":
    """The lake with a session of its own, which ends with it; ends the command where there can be none. With `report`
    the session tells the receiver there what it reads and writes.
    """
    try:
        import pyspark  # noqa: PLC0415 - slow to import, and this is the only command that needs it

        from local.lake_session import opened  # noqa: PLC0415 - the same
        from spark_pipeline.lake import Lake, LakeError  # noqa: PLC0415 - the same
        from spark_pipeline.session import Local  # noqa: PLC0415 - the same
    except ModuleNotFoundError as error:
        fail(f"the lake needs PySpark, pandas and pyarrow ({error}): see docs/spark.md", code=2)
    root = root if "://" in root else str(Path(root).resolve())
    chosen = choose(engine, root, sources, delta=delta, report=report)
    platform = SPARK_4 if pyspark.__version__.startswith("4") else SPARK_3
    more: Mapping[str, str] = {}
    if chosen is Engine.spark:
        logging.getLogger("py4j").setLevel(logging.ERROR)
        try:
            os.environ.setdefault("JAVA_HOME", str(find_java().path))
        except NoJavaError as error:
            fail(str(error), code=2)
        more = listener_configuration(report, key=key, namespace="lake", platform=platform) if report else {}
    how = Local(
        cores=cores,
        memory=memory,
        delta_package=platform.delta_package if delta else "",
        scratch=str(Path("build/lake-scratch").resolve()),
        more=more,
    )
    try:
        with opened(how, "sail" if chosen is Engine.sail else "spark") as session:
            yield Lake.at(session, root)
    except LakeError as error:
        fail(str(error), code=2)


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
    parquet: Annotated[bool, typer.Option("--parquet", help="Plain parquet instead of Delta")] = False,
    engine: Asked = Engine.auto,
    report: Annotated[str, typer.Option(help="A receiver: tell it what this run reads and writes")] = "",
    key: Annotated[str, typer.Option(envvar="THROUGHLINE_KEY", help="That receiver's function key")] = "",
    as_json: Json = False,
) -> None:
    """Bring all tables up to what the sources hold; what was read before is not read again.

    Stopped anywhere, it is finished by the next run. Where nothing is new, nothing is written.

    \b
    throughline lake run build/estate --lake build/lake
    throughline lake run archive/ events/ --tags personal.csv
    throughline lake run archive/ --report http://127.0.0.1:7071
    """  # noqa: D301 - \b keeps the lines of the examples apart
    told = (names.read_text(encoding="utf-8"), str(names)) if names else None
    places = _places(sources)
    opened = _opened(
        root, engine=engine, sources=places, cores=cores, memory=memory, delta=not parquet, report=report, key=key
    )
    with opened as lake:
        from spark_pipeline.silver import Meaning  # noqa: PLC0415 - see _opened
        from spark_pipeline.steps import STAGES, Order, Stage, run  # noqa: PLC0415 - the same

        order = Order(sources=places, meaning=Meaning(as_of=_moment(as_of), names=told), tags=tags)
        with progress_bar(transient=True) as bar:
            task = bar.add_task(STAGES[0], total=len(STAGES))

            def tell(stage: Stage) -> None:
                following = STAGES[min(STAGES.index(stage.name) + 1, len(STAGES) - 1)]
                bar.update(task, completed=STAGES.index(stage.name) + 1, description=following)

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
    engine: Asked = Engine.auto,
    as_json: Json = False,
) -> None:
    """What depends on a column: what breaks when it goes.

    \b
    throughline lake impact /data/sales/orders amount
    """  # noqa: D301 - \b keeps the lines of the examples apart
    with _opened(root, engine=engine) as lake:
        from spark_pipeline.impact import column_edges, columns_of, downstream  # noqa: PLC0415 - see _opened

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
    engine: Asked = Engine.auto,
    as_json: Json = False,
) -> None:
    """How much of what runs has lineage, worst first.

    \b
    throughline lake coverage --level owner
    """  # noqa: D301 - \b keeps the lines of the examples apart
    with _opened(root, engine=engine) as lake:
        from spark_pipeline.schemas import COVERAGE  # noqa: PLC0415 - see _opened

        rows = lake.read(COVERAGE).where(f"level = '{level}'") if level.isalpha() else None
        if rows is None:
            fail(f"--level {level} is none: asset, store, owner, job or all", code=2)
        _show(rows.orderBy("score", "name").drop("batch", "level"), as_json=as_json)


@app.command("changes")
def changes(
    *,
    asset: Annotated[str, typer.Option(help="Only data sets whose qualified name ends so")] = "",
    root: Root = str(ROOT),
    engine: Asked = Engine.auto,
    as_json: Json = False,
) -> None:
    """Columns that came, went or changed their type, the latest first, and how many columns depend on each.

    \b
    throughline lake changes --asset /sales/orders
    """  # noqa: D301 - \b keeps the lines of the examples apart
    with _opened(root, engine=engine) as lake:
        from pyspark.sql import functions as f  # noqa: PLC0415 - see _opened

        from spark_pipeline.schemas import SCHEMA_CHANGES  # noqa: PLC0415 - the same

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


@app.command("publish")
def publish(
    *,
    root: Root = str(ROOT),
    engine: Asked = Engine.auto,
    plan: Annotated[bool, typer.Option("--plan", help="Only say how many processes there are")] = False,
    home: Home = HOME,
) -> None:
    """Write the current lineage to the catalog: to fill one that is new or was lost.

    What the catalog holds already is not sent; stopped anywhere, begin again. The functions go on beside it.

    \b
    throughline lake publish --plan
    throughline lake publish
    """  # noqa: D301 - \b keeps the lines of the examples apart
    parts = None if plan else target(home)
    with _opened(root, engine=engine) as lake, progress_bar(transient=True) as bar:
        from spark_pipeline.schemas import CURRENT  # noqa: PLC0415 - see _opened
        from spark_pipeline.values import unpack_process  # noqa: PLC0415 - the same

        rows = lake.live(CURRENT).orderBy("process").select("content")
        total = rows.count()
        if parts is None:
            out.print(f"{total:,} processes would be compared with the ledger")
            return
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
