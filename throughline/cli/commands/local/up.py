"""`throughline up`: the local world, kept running."""

import contextlib
import logging
import os
import shlex
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from shared.bootstrap import assemble
from shared.errors import Misconfigured
from shared.records.control import check_layout, record_settings
from shared.settings.reading import load
from throughline.cli.context.parsed_file import TextFile, names_in
from throughline.cli.context.target import HOME, Home
from throughline.cli.platforms.configuration import Installation, configuration
from throughline.cli.ui.console import err, fail, note, out
from throughline.cli.ui.writing import refuse_unwritable
from throughline.local.atlas import AtlasServer
from throughline.local.func import find_func
from throughline.local.process.listening import PortError
from throughline.local.running_world import running_world
from throughline.local.toolchain.interpreter import InterpreterError
from throughline.local.toolchain.java import NoJavaError
from throughline.local.world import World
from throughline.plan_jar import PlanJarError, plan_jar

WithFunc = Annotated[bool, typer.Option("--func", help="Run the functions by `func start`, which must be installed")]
FreePorts = Annotated[bool, typer.Option("--free-ports", help="Use free ports instead of the usual ones")]


@contextlib.contextmanager
def started_world(
    *, home: Path, usual_ports: bool, names: Path | None = None, func: bool = False, atlas: AtlasServer | None = None
) -> Iterator[World]:
    """A running local world, with this Atlas as its catalog if there is one (and column assets, which Atlas shows).

    Ends the command with one sentence where it cannot start.
    """
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    names_in(names)
    refuse_unwritable(home, "Name another folder by --home")
    settings = {"THROUGHLINE_DOCUMENT": "true", "THROUGHLINE_FOREIGN_DEPTH": "2"}
    if atlas:
        settings["THROUGHLINE_ATLAS_COLUMNS"] = "true"
    if names:
        settings["THROUGHLINE_NAMES"] = str(names.absolute())  # the functions run in a folder of their own
    program = find_func() if func else None
    world = World(home=home, usual_ports=usual_ports, settings=settings, func=program, atlas=atlas)
    if other := running_world(home):
        place = f"process {other.pid}, {other.receiver_url}"
        fail(f"a world is running already ({place}): stop it with Ctrl-C there", code=2)
    try:
        with contextlib.ExitStack() as parts:
            catalog = "a real Atlas (40 s; the first time downloads 280 MB)" if atlas else "the catalog"
            with err.status(f"starting Azurite, {catalog} and the functions"):
                parts.enter_context(world)
                # the functions would report a wrong setting in their log only, and record theirs a minute later
                worker = assemble(load(catalog=True, overrides=world.environment))
                try:
                    check_layout(worker.storage)
                except Misconfigured as problem:
                    raise Misconfigured(f"{problem}: delete {home}, or name another folder by --home") from problem
                record_settings(worker.storage, worker.to_record)
            yield world
    except PortError as problem:
        fail(f"{problem}. --free-ports takes other ports (make … ARGS=--free-ports)", code=2)


def up(*, free_ports: FreePorts = False, func: WithFunc = False, names: TextFile = None, home: Home = HOME) -> None:
    """Run the local world until Ctrl-C, and print how a Spark session reports to it.

    Data is kept in build/world, or in the folder of --home: delete that folder to start empty.

        throughline up
        throughline up --free-ports
        throughline up --names names.toml
        throughline up --func
    """
    with started_world(home=home, usual_ports=not free_ports, names=names, func=func) as world:
        out.print(f"[bold]receiver[/]  {world.functions.url}/api/v1/lineage")
        out.print(f"[bold]page[/]      {world.functions.url}/api/  (its API: /api/v1/openapi.json)")
        out.print(f"[bold]catalog[/]   {world.catalog.endpoint}  (bearer token: {world.catalog.token})")
        out.print(f"[bold]storage[/]   Azurite, blobs on port {world.azurite.ports['blob']}")
        out.print("\nA Spark 3.5 session reports to it with:\n")
        lines = [f"--conf {key}={value}" for key, value in session_properties(world.functions.url).items()]
        out.print("spark-submit " + " \\\n  ".join([*lines, "your_job.py"]), soft_wrap=True)
        out.print("\nThen, in another terminal (Ctrl-C here ends the world):\n")
        for words in ("status", "show ASSET --columns"):
            out.print(f"  {typed(words, home)}")
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
        out.print("ending")


def session_properties(url: str, made_jar: Callable[[], Path] = plan_jar) -> Mapping[str, str]:
    """The Spark properties of `throughline config local` for the receiver at `url`; without the plan listener, and with
    a note that says why, where its jar can't be made.
    """
    try:
        jar = str(made_jar())
    except (InterpreterError, NoJavaError, PlanJarError) as error:
        note("without the plan listener", str(error))
        jar = ""
    return configuration("local", Installation(url=url, plan_jar=jar), today=datetime.now(UTC).date()).properties


def typed(words: str, home: Path) -> str:
    """A command for the world in this folder, as it can be typed in the current folder. Another terminal may not have
    activated the environment: so the path of one below the current folder is part of the command.
    """
    relative_path = os.path.relpath(Path(sys.executable).with_name("throughline"))
    is_elsewhere = relative_path.startswith(os.pardir)
    program = "throughline" if is_elsewhere and shutil.which("throughline") else shlex.quote(relative_path)
    return f"{program} {words}" + ("" if home == HOME else f" --home {shlex.quote(str(home))}")
