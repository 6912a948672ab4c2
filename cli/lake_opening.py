"""A lake for a command: the session that works on it, with what the command's options say of both."""

import contextlib
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.console import fail
from cli.engines import Engine, choose
from local.java import NoJavaError, find_java
from local.spark import listener_configuration
from local.versions import SPARK_3, SPARK_4

if TYPE_CHECKING:
    from spark_pipeline.lake import Lake

ROOT = Path("build/lake")
Root = Annotated[str, typer.Option("--lake", help="The folder or URL of the tables")]
Cores = Annotated[int, typer.Option(min=1, help="How many cores Spark may use")]
Memory = Annotated[str, typer.Option(help="How much memory Spark's own process may use, as 2g")]


@contextlib.contextmanager
def opened_lake(
    root: str,
    *,
    engine: Engine,
    sources: Sequence[str] = (),
    cores: int = 2,
    memory: str = "2g",
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
    chosen = choose(engine, root, sources, report=report)
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
        delta_package=platform.delta_package,
        scratch=str(Path("build/lake-scratch").resolve()),
        more=more,
    )
    try:
        with opened(how, "sail" if chosen is Engine.sail else "spark") as session:
            yield Lake.at(session, root)
    except LakeError as error:
        fail(str(error), code=2)
