"""Which Throughline a command talks to: the one that the environment names, else the world running on this machine."""

from pathlib import Path
from typing import Annotated, NoReturn

import typer

from cli.console import fail
from local.world import HOME, running_world
from shared.bootstrap import Worker, assemble
from shared.errors import Misconfigured
from shared.settings import load, named

__all__ = ["HOME", "Home", "away", "parts_of", "target"]

Home = Annotated[Path, typer.Option(help="The folder in which the local world keeps its data")]


def away(error: Exception) -> NoReturn:
    """End the command: what it talks to is not there."""
    fail(str(error) if named(place=True) else f"{error}. Is the world still running (`make up`)?")


def parts_of(context: typer.Context, home: Path) -> Worker:
    """The parts that whoever runs the command passed in (as click's `obj`), else those of `target`."""
    return context.find_object(Worker) or target(home)


def target(home: Path = HOME) -> Worker:
    """The parts of the Throughline that is meant; ends the command with one sentence when there is none.

    One that the environment places comes first, and is then all that counts: a mistake in it must not lead elsewhere.
    Other settings in the environment (times, the file of names) count for the world on this machine too.
    """
    try:
        world = None if named(place=True) else running_world(home)
        if world:
            return assemble(load(catalog=True, over=world.environment))
        if named():
            return assemble(load(catalog=True))
    except Misconfigured as problem:
        fail(str(problem), code=2)
    return fail("no Throughline to talk to: start one with `make up`, or name yours in the environment", code=2)
