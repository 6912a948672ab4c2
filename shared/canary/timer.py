"""The canary of the sweeper: one now and then, whose line of the log raises the alert `canary`."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from msgspec import structs

from shared.canary.hops import Canary, SendAnswer
from shared.canary.run import FAIL
from shared.errors import CatalogRefused, Retry
from shared.naming.names import Names
from shared.publishing.context import PublishContext
from shared.records.checkpoint import CANARY, CanaryPosition
from shared.telemetry.kinds import CANARY as CANARY_ACT

OWNER = "timer"
_PATIENCE = 60.0
"""Seconds: the sweeper waits meanwhile. Twice this is the longest gap between two sweeps because of a canary."""


_AGAIN = timedelta(minutes=5)
"""When one is sent after one that failed: a swap or a restart is over by then, and the alert ends with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryOptions:
    """How the sweeper posts an event to the receiver, the time between two canaries, and its patience in seconds."""

    send: Callable[[bytes], SendAnswer]
    every: timedelta
    patience: float = _PATIENCE


def canary_due(context: PublishContext, names: Names, options: CanaryOptions | None) -> None:
    """Send a canary if one is due, and report how it went. Nothing without options, and in shadow mode.

    One that failed, or that a killed sweeper left, is withdrawn again first. Failures of the way are reported, and do
    not fail the sweep.
    Raises StorageUnavailable only where the time of the next one cannot be stored.
    """
    if options is None or context.publishing.shadow:
        return
    storage, now = context.storage, context.publishing.now()
    position = CANARY.load(storage)
    if position and now < position.due:
        return
    canary = Canary(context=context, names=names, send=options.send, owner=OWNER, patience=options.patience)
    run = canary.run()
    next_position = CanaryPosition(due=now + options.every, withdrawal=run.bodies[FAIL].decode())
    if position and position.withdrawal:
        canary.send(position.withdrawal.encode())
    CANARY.save(storage, next_position)
    with context.publishing.telemetry.act(CANARY_ACT) as act:
        problem = "unfinished"
        try:
            for hop in canary.hops(run):
                problem = hop.problem
                act.note(**{f"{hop.name.lower()}_seconds": round(hop.seconds, 3)})
                if problem:
                    act.note(hop=hop.name, problem=problem, outcome=hop.outcome)
                    break
        except (CatalogRefused, Retry) as error:
            act.note(problem=type(error).__name__, outcome=str(error)[:200])
            problem = type(error).__name__
        act.note(state="failed" if problem else "arrived")
    sooner = structs.replace(next_position, due=now + min(options.every, _AGAIN))
    CANARY.save(storage, sooner if problem else structs.replace(next_position, withdrawal=""))
