"""`python -m tests.faults.interleavings`: all interleavings of a few actors on small histories, and how they end.

python -m tests.faults.interleavings                       all cases
python -m tests.faults.interleavings --case "a late failure" --faults death after race
python -m tests.faults.interleavings --states 3000000      go further in each case; by default 1,000,000 states
"""

import argparse
import logging
import sys
import time
from collections.abc import Sequence

from tests.faults.explored_actors import CLOSING, Case, Job, deliver, publish, send, stall, sweep
from tests.faults.exploring import Bounds, Explored, explore
from tests.faults.task_histories import UNUSABLE_NAMES
from tests.support.events import DAY, event, run_id, write
from tests.support.plans_alone import plan_event

_END = event("app", "COMPLETE", "11:00:00")
_RUN = write("r", "app", "10:00", "/a")
_SECOND = write("s", "app", "10:05", "/b")
_DROPPED = event("d", "COMPLETE", "10:30:00", outputs=["/out"], states={"/out": ("DROP", "")}, application="app")
_ONWARD = event("o", "COMPLETE", "10:20:00", inputs=["/out"], outputs=["/last"], application="app")
_FAILED = event("r", "FAIL", "10:40:00", inputs=["/a"], outputs=["/out"], application="app")
_UNUSABLE = event("r", "COMPLETE", "10:00:30", inputs=["/a"], outputs=["/unusable/a"], application="app")
_NEWER = write("n", "newer", "12:00", "/c")
_NEWER_END = event("newer", "COMPLETE", "12:30:00")
_NEWER_FAILED = event("newer", "FAIL", "12:31:00")
_NOTEBOOK = event("f", "COMPLETE", "10:50:00", application="app", properties={"spark.databricks.notebook.path": "/N"})
_BELOW = event("app", "COMPLETE", "11:00:00", application="task", job="app")
_SPLIT = (
    event("r", "START", "10:00:00", inputs=["/a"], outputs=["/out"], application="other"),
    event("r", "COMPLETE", "10:00:30", inputs=["/a"], outputs=["/out"], application="app"),
)
_PLAN = plan_event(run_id("p"), f"{DAY}T10:00:30Z", application=run_id("app"), source="/plan", sink="/out")
_PLAN_FAILED = plan_event(
    run_id("p"), f"{DAY}T10:00:30Z", application=run_id("app"), failed=True, problem="too large", sink="/out"
)
_PUBLISHER = {"publisher": (publish(),)}
_OLDER = (*_RUN, _END)
_NEWER_RUN = (*_NEWER, _NEWER_END)
_LATER = write("l", "app", "10:06", "/d")


_QUIET = (sweep(), publish(), stall(3 * 86_400.0))
"""All is published, and then quiet for three days."""
_OLD = (sweep(), publish(), stall(31 * 86_400.0))


def _arrives(*bodies: bytes) -> tuple[Job, ...]:
    """The jobs of a receiver and a parser: each event is sent, and then delivered."""
    return tuple(job for body in bodies for job in (send(body), deliver(body)))


CASES: tuple[Case, ...] = (
    Case(
        name="START and end of a run",
        stored=(*_RUN,),
        actors={"one": (deliver(_RUN[0]),), "two": (deliver(_RUN[1]),), **_PUBLISHER},
    ),
    Case(
        name="a late failure",
        stored=(_RUN[1],),
        sent=(_FAILED,),
        actors={"one": (deliver(_RUN[1]),), "two": _arrives(_FAILED), **_PUBLISHER},
    ),
    Case(
        name="a late failure beside another run",
        stored=(_RUN[1],),
        before=(deliver(_RUN[1]),),
        sent=(_FAILED, _SECOND[1]),
        actors={"one": _arrives(_FAILED), "two": _arrives(_SECOND[1])},
    ),
    Case(
        name="a plan alone beside the listener's run",
        stored=(_PLAN,),
        sent=(_RUN[1],),
        actors={"one": (deliver(_PLAN),), "two": _arrives(_RUN[1]), **_PUBLISHER},
    ),
    Case(
        name="the plan of a failure that the listener does not tell",
        stored=(_RUN[1],),
        sent=(_PLAN_FAILED,),
        actors={"one": (deliver(_RUN[1]),), "two": _arrives(_PLAN_FAILED), **_PUBLISHER},
    ),
    Case(
        name="two runs of an application",
        stored=(_RUN[1],),
        sent=(_SECOND[1],),
        actors={"one": (deliver(_RUN[1]),), "two": _arrives(_SECOND[1]), **_PUBLISHER},
    ),
    Case(
        name="an event delivered twice",
        stored=(_RUN[1],),
        actors={"one": (deliver(_RUN[1]),), "two": (deliver(_RUN[1]),), **_PUBLISHER},
    ),
    Case(
        name="a newer application",
        stored=(_RUN[1], _NEWER[1], _NEWER_END),
        actors={"one": (deliver(_RUN[1]),), "two": (deliver(_NEWER[1]), deliver(_NEWER_END)), **_PUBLISHER},
    ),
    Case(
        name="an older application that comes back",
        stored=(*_OLDER, *_NEWER_RUN),
        before=(*map(deliver, (*_OLDER, *_NEWER_RUN)),),
        sent=(_NEWER_FAILED,),
        actors={"one": _arrives(_NEWER_FAILED), **_PUBLISHER},
    ),
    Case(
        name="a fact that is known late",
        stored=(_RUN[1],),
        sent=(_NOTEBOOK,),
        actors={"one": (deliver(_RUN[1]),), "two": _arrives(_NOTEBOOK), **_PUBLISHER},
    ),
    Case(
        name="a table that is dropped",
        stored=(_RUN[1], _ONWARD),
        sent=(_DROPPED,),
        actors={"one": (deliver(_RUN[1]), deliver(_ONWARD)), "two": _arrives(_DROPPED), **_PUBLISHER},
    ),
    Case(
        name="an application below a task",
        stored=(_RUN[1],),
        sent=(_BELOW,),
        actors={"one": (deliver(_RUN[1]),), "two": _arrives(_BELOW), **_PUBLISHER},
    ),
    Case(
        name="a run of two applications",
        stored=_SPLIT,
        actors={"one": (deliver(_SPLIT[1]),), "sweeper": (sweep(),), **_PUBLISHER},
    ),
    Case(
        name="a sender that gives up",
        stored=(_RUN[1],),
        sent=(_FAILED,),
        actors={"sender": (send(_FAILED),), "one": (deliver(_RUN[1]),), "two": (deliver(_FAILED),)},
    ),
    Case(
        name="a sweep beside a worker",
        stored=(_RUN[1], _END),
        actors={"one": (deliver(_RUN[1]),), "sweeper": (sweep(),), **_PUBLISHER},
    ),
    Case(
        name="a publisher that stalls",
        stored=(_RUN[1], _SECOND[1]),
        actors={
            "one": (deliver(_RUN[1]), publish()),
            "two": (deliver(_SECOND[1]), publish()),
            "time": (stall(70.0),),
        },
    ),
    Case(
        name="a commit that was lost, and its mark",
        stored=(_RUN[1],),
        before=(deliver(_RUN[1]), publish()),
        sent=(_SECOND[1],),
        actors={"one": _arrives(_SECOND[1]), "time": (stall(180.0),), **_PUBLISHER},
    ),
    Case(
        name="a run that can be used after all",
        stored=(_UNUSABLE,),
        sent=(_FAILED,),
        actors={"one": (deliver(_UNUSABLE),), "two": _arrives(_FAILED)},
        names=UNUSABLE_NAMES,
    ),
    Case(
        name="closing beside a late event",
        stored=(_RUN[1], _END),
        before=(deliver(_RUN[1]), deliver(_END), *_QUIET),
        sent=(_FAILED,),
        actors={"sweeper": (sweep(),), "one": _arrives(_FAILED)},
        closing=CLOSING,
    ),
    Case(
        name="closing beside a new run",
        stored=(_RUN[1],),
        before=(deliver(_RUN[1]), *_QUIET),
        sent=(_SECOND[1],),
        actors={"sweeper": (sweep(),), "one": _arrives(_SECOND[1]), **_PUBLISHER},
        closing=CLOSING,
    ),
    Case(
        name="two sweepers that archive",
        stored=(_RUN[1],),
        before=(deliver(_RUN[1]), *_QUIET),
        actors={"sweeper": (sweep(),), "another": (sweep(),), "time": (stall(70.0),)},
        closing=CLOSING,
    ),
    Case(
        name="a part that is forgotten beside a new run",
        stored=(*_OLDER, *_NEWER_RUN),
        before=(*map(deliver, (*_OLDER, *_NEWER_RUN)), *_QUIET, sweep()),
        sent=(_LATER[1],),
        actors={"one": _arrives(_LATER[1]), **_PUBLISHER},
        closing=CLOSING,
    ),
    Case(
        name="runs that are forgotten beside a new run",
        stored=(_RUN[1],),
        before=(deliver(_RUN[1]), *_QUIET, *_OLD),
        sent=(_SECOND[1],),
        actors={"sweeper": (sweep(),), "one": _arrives(_SECOND[1])},
        closing=CLOSING,
    ),
    Case(
        name="an application that is forgotten beside a new run",
        stored=(_FAILED,),
        before=(deliver(_FAILED), *_QUIET, *_OLD, *_QUIET),
        sent=(_SECOND[1],),
        actors={"sweeper": (sweep(),), "one": _arrives(_SECOND[1])},
        closing=CLOSING,
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0 when all ends were as expected, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults.interleavings",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [case.name for case in CASES]
    parser.add_argument("--case", choices=names, action="append", help="only this case; may be repeated")
    parser.add_argument("--states", type=int, default=1_000_000, help="the most states of a case")
    parser.add_argument("--switches", type=int, help="the most switches from a worker that could go on; any by default")
    parser.add_argument("--unreduced", action="store_true", help="walk each order of calls that commute, to compare")
    parser.add_argument("--deaths", type=int, default=1, help="the most faults in one history")
    parser.add_argument("--faults", nargs="*", choices=("death", "after", "race"), default=("death",))
    options = parser.parse_args(arguments)
    bounds = Bounds(
        states=options.states,
        switches=options.switches,
        faults=options.deaths,
        kinds=tuple(options.faults),
        reduced=not options.unreduced,
    )
    wrong = 0
    for case in CASES:
        if options.case and case.name not in options.case:
            continue
        began = time.monotonic()
        explored = explore(case, bounds)
        wrong += len(explored.wrong)
        _print(line_of(case, explored, time.monotonic() - began))
        for way, differences in explored.wrong:
            _print("".join(f"    {step}\n" for step in way) + f"  wrong: {'; '.join(differences)}")
    return 1 if wrong else 0


def line_of(case: Case, explored: Explored, seconds: float) -> str:
    """Return the figures of a case."""
    extent = "all" if explored.complete else "cut off"
    faults = ", ".join(f"{count:,} by {kind}" for kind, count in explored.faults.most_common())
    return (
        f"{case.name} ({', '.join(case.actors)}): {explored.states:,} states ({extent}), {explored.steps:,} steps"
        f" ({faults or 'no faults'}), {explored.ends:,} ends, {len(explored.different_ends):,} different ones,"
        f" in {seconds:.0f} s: {len(explored.wrong)} wrong"
    )


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    logging.disable()
    sys.exit(main())
