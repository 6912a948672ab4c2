"""Which Throughline a command talks to: the one that the environment names, else the world running on this machine."""

from pathlib import Path
from typing import Annotated, TypeVar

import typer

from shared.bootstrap import Worker
from shared.settings.reading import named
from shared.settings.values import Settings
from throughline.cli.context.effective_settings import agreed, settings_of_functions
from throughline.cli.ui.console import fail
from throughline.cli.ui.failures import reported
from throughline.local.running_world import HOME, running_world, up_command
from throughline.project import ROOT

__all__ = [
    "HOME",
    "Home",
    "functions_settings",
    "local_receiver",
    "of_catalog",
    "parts_if_any",
    "parts_of",
    "reported",
    "target",
]
T = TypeVar("T")

_SHOWN_HOME = "build/world" if HOME.is_relative_to(ROOT) else f"~/{HOME.relative_to(Path.home())}"
"""An installed wheel keeps the world in the cache of the user (`throughline/local/toolchain/stamp.py`)."""

Home = Annotated[
    Path,
    typer.Option(
        metavar="FOLDER",
        help="The local world's folder; used if the environment names no Throughline",
        show_default=_SHOWN_HOME,
    ),
]


def parts_of(context: typer.Context, home: Path, *, writes: bool = False) -> Worker:
    """The parts that were passed in as click's `obj`, else those of `target`."""
    return context.find_object(Worker) or target(home, writes=writes)


def parts_if_any(context: typer.Context, home: Path) -> Worker | None:
    """The same for a command that can do without: None where no Throughline is named or runs here."""
    worker = context.find_object(Worker)
    return worker or (target(home) if named() or running_world(home) else None)


def target(home: Path = HOME, *, writes: bool = False) -> Worker:
    """The parts of the Throughline that is meant; ends the command with one sentence when there is none.

    Settings in the environment come first, and a mistake in them is an error: it must not lead to another Throughline.
    `writes`: whether the command writes to the record or the catalog, which it does by the functions' settings alone
    (`throughline/cli/context/effective_settings.py`).
    """
    world = None if named(place=True) else running_world(home)
    if world or named():
        return agreed(world.environment if world else {}, writes=writes)
    return fail(
        f"the environment names no Throughline, and no local world runs in {home}: start one with"
        f" {up_command(home)}, name the folder of a running one by --home, or set AzureWebJobsStorage*"
        " and THROUGHLINE_CATALOG_* as the functions have them",
        code=2,
    )


def of_catalog(part: T | None, lacks: str) -> T:
    """A part of the catalog; ends the command where this catalog has none: `lacks` says so, as `has no glossary`."""
    return part or fail(f"this catalog {lacks}: name Purview or Atlas by THROUGHLINE_CATALOG_ENDPOINT", code=2)


def local_receiver(home: Path, options: str = "--url") -> str:
    """The address of the local world's receiver; ends the command where none runs. `options` name another one."""
    world = running_world(home)
    if world is None:
        fail(f"the receiver is not known: give {options}, or start a world with {up_command(home)}", code=2)
    return world.receiver_url


def functions_settings(home: Path = HOME) -> Settings | None:
    """The settings by which the functions of `target` publish; None where there is no Throughline, or none are on
    record.
    """
    world = None if named(place=True) else running_world(home)
    return settings_of_functions(world.environment if world else {}) if world or named(place=True) else None
