"""The lake of a command, with the session that reads and writes it, by the command's options."""

import contextlib
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shared.settings.values import Settings
from throughline.cli.context.target import functions_settings
from throughline.cli.ui.console import fail, note
from throughline.cli.ui.writing import refuse_unwritable
from throughline.lake.engine_choice import EngineName, choose

if TYPE_CHECKING:
    from throughline.lake.silver.refinement import Meaning
    from throughline.lake.tables.lake import Lake

if TYPE_CHECKING:
    from throughline.lake.tables.lake import Lake

ROOT = Path("build/lake")
_SCRATCH = Path("build/lake-scratch")
Root = Annotated[str, typer.Option("--lake", metavar="FOLDER", help="The folder or URL of the tables")]
Cores = Annotated[int, typer.Option(min=1, metavar="N", help="Cores that Spark may use")]
EngineOption = Annotated[EngineName, typer.Option("--engine", help="auto: Sail for small local data, else Spark")]
Memory = Annotated[str, typer.Option(metavar="SIZE", help="Memory of the Spark process, such as 2g")]


@contextlib.contextmanager
def opened_lake(
    root: str,
    *,
    engine: EngineName,
    sources: Sequence[str] = (),
    cores: int = 2,
    memory: str = "2g",
    report: str = "",
    key: str = "",
    writes: bool = False,
) -> "Iterator[Lake]":
    """The lake with a session of its own, which ends with it; ends the command where none can be started, or where
    there is no lake and no `sources` to make it of. `report` is the URL of a receiver for the lineage of the session
    itself; `writes`: whether the command writes to the lake.
    """
    try:
        import pyspark  # noqa: PLC0415 - slow to import, and this is the only command that needs it
        from pyspark.errors import PySparkRuntimeError  # noqa: PLC0415 - the same

        from throughline.lake.engine.opening import opened  # noqa: PLC0415 - the same
        from throughline.lake.engine.session import Local  # noqa: PLC0415 - the same
        from throughline.lake.tables.lake import Lake  # noqa: PLC0415 - the same
        from throughline.local.spark.job import listener_configuration  # noqa: PLC0415 - the same
        from throughline.local.toolchain.java import JavaNeed, find_java  # noqa: PLC0415 - the same
        from throughline.local.toolchain.versions import SPARK_3, SPARK_4  # noqa: PLC0415 - the same
    except ModuleNotFoundError as error:
        needs = "the lake needs PySpark, pandas and pyarrow"
        fail(f"{needs} ({error}): install the wheel with its extra: pip install 'PATH_OF_WHEEL[lake]'", code=2)
    root = root if "://" in root else str(Path(root).resolve())
    engine_name = choose(engine, root, sources, report=report)
    scratch = _SCRATCH.resolve()
    refuse_unwritable(scratch, "Run the command in a folder in which you may write")
    if writes and "://" not in root:
        refuse_unwritable(Path(root), "Name another folder by --lake")
    if not sources and "://" not in root and not Path(root).is_dir():
        fail(f"there is no lake in {root}: make one with `throughline lake run ARCHIVE --lake {root}`", code=2)
    platform = SPARK_4 if pyspark.__version__.startswith("4") else SPARK_3
    configuration: Mapping[str, str] = {}
    if engine_name is EngineName.spark:
        scratch.mkdir(parents=True, exist_ok=True)
        logging.getLogger("py4j").setLevel(logging.ERROR)
        need = JavaNeed(platform=platform, listener=bool(report), lake=True)
        os.environ["JAVA_HOME"] = str(find_java(need).path)
        configuration = listener_configuration(report, key=key, namespace="lake", platform=platform) if report else {}
    local_engine = Local(
        cores=cores,
        memory=memory,
        delta_package=platform.delta_package,
        scratch=str(scratch),
        log=str(scratch / "spark.log"),
        more=configuration,
    )
    try:
        with opened(local_engine, engine_name) as session:
            yield Lake.at(session, root)
    except PySparkRuntimeError as error:
        fail(f"Spark did not start ({error}): its messages are in {local_engine.log}")


def meaning_for(names: Path | None, home: Path) -> "Meaning":
    """The meaning for a run of the lake, without its time: by the functions' settings where a Throughline is named (or
    runs on this machine) and has them on record, else by the defaults. A file of `names` replaces theirs; where it
    differs, a note says so.
    """
    from throughline.lake.silver.refinement import Meaning  # noqa: PLC0415 - PySpark is slow to import

    names_file = (names.read_text(encoding="utf-8"), str(names)) if names else None
    function_settings = functions_settings(home)
    if function_settings is None:
        return Meaning(names=names_file)
    meaning = _of(function_settings)
    if names_file and names_file[0] != (meaning.names or ("", ""))[0]:
        note("settings", f"{names_file[1]} is not the functions' file of names: this lake can't be published")
    return replace(meaning, names=names_file) if names_file else meaning


def refuse_other_meaning(lake: "Lake", home: Path) -> None:
    """End the command where the lake was made by other settings than those of the functions."""
    from throughline.lake.pipeline import MEANING, MIXED  # noqa: PLC0415 - the same

    function_settings, noted = functions_settings(home), lake.progress(MEANING)
    if function_settings is None or noted == _of(function_settings).number:
        return
    others = "several settings, one after the other" if noted == MIXED else "other settings than the functions'"
    fail(
        f"this lake was made by {others} (file of names, times, indirect columns), and would publish other lineage than"
        " they do. Nothing was done: make a new one with `throughline lake run`, with the storage of the functions in"
        " the environment and no --names",
        code=2,
    )


def _of(settings: Settings) -> "Meaning":
    from throughline.lake.silver.refinement import Meaning  # noqa: PLC0415 - the same

    return Meaning(
        end_timeout=settings.times.end_timeout,
        quiet=settings.times.quiet,
        unseen=settings.times.unseen,
        names=(settings.names.text, settings.names.place) if settings.names else None,
        with_indirect=settings.indirect_columns,
    )
