"""Which Throughline a command talks to: the one that the environment names, else the world running on this machine."""

from pathlib import Path
from typing import Annotated, NoReturn

import typer

from cli.context.effective_settings import agreed, settings_of_functions
from cli.ui.console import fail
from local.world import HOME, running_world
from shared.bootstrap import Worker
from shared.errors import Misconfigured
from shared.settings.reading import named
from shared.settings.values import Settings

__all__ = ["HOME", "Home", "away", "functions_settings", "parts_of", "target"]

Home = Annotated[Path, typer.Option(help="The folder in which the local world keeps its data")]


def away(error: Exception) -> NoReturn:
    """End the command: what it talks to is not there."""
    fail(str(error) if named(place=True) else f"{error}. Is the world still running (`make up`)?")


def parts_of(context: typer.Context, home: Path, *, writes: bool = False) -> Worker:
    """The parts that were passed in as click's `obj`, else those of `target`."""
    return context.find_object(Worker) or target(home, writes=writes)


def target(home: Path = HOME, *, writes: bool = False) -> Worker:
    """The parts of the Throughline that is meant; ends the command with one sentence when there is none.

    One that the environment places comes first, and is then all that counts: a mistake in it must not lead elsewhere.
    `writes`: whether the command writes to the record or the catalog, which it does by the functions' settings alone
    (`cli/context/effective_settings.py`).
    """
    try:
        world = None if named(place=True) else running_world(home)
        if world or named():
            return agreed(world.environment if world else {}, writes=writes)
    except Misconfigured as problem:
        fail(str(problem), code=2)
    return fail("no Throughline to talk to: start one with `make up`, or name yours in the environment", code=2)


def functions_settings(home: Path = HOME) -> Settings | None:
    """The settings by which the functions publish: those of the Throughline that `target` finds. None where there is no
    Throughline, or none are on record.
    """
    try:
        world = None if named(place=True) else running_world(home)
        return settings_of_functions(world.environment if world else {}) if world or named(place=True) else None
    except Misconfigured as problem:
        fail(str(problem), code=2)
