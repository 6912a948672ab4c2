"""Which Throughline a command talks to: the one that the environment names, else the world running on this machine."""

from cli.console import fail
from local.world import running_world
from shared.bootstrap import Worker, assemble
from shared.errors import Misconfigured
from shared.settings import load


def target() -> Worker:
    """The parts of the Throughline that is meant; ends the command with one sentence when there is none."""
    try:
        return assemble(load(catalog=True))
    except Misconfigured as problem:
        world = running_world()
        if world:
            return assemble(load(catalog=True, environment=world.environment))
        fail(
            f"no Throughline to talk to: start one with `make up`, or name yours in the environment.\n{problem}", code=2
        )
