"""A warm receiver request, against its bare storage calls on the same, equally full Azurite.

The limit is the CPU of a request if our own code took none: what client, host, Microsoft's worker runtime and Azurite
take.
"""

import itertools
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from tests.bench.figures import ROOT, Figure, Rounds, children_cpu, percentile
from tests.bench.fullness import fullness
from tests.bench.replay import Item, Replay
from tests.bench.sizes import Sizes, Steps
from tests.bench.worker import Timings, bare, child, in_process, posted
from throughline.local.azurite import Azurite
from throughline.local.functions import FunctionsHost

NAME = "receiver"
_GOAL = "<= 1.3"
_BESIDE = "insert a row, put a blob"
_WARM_UP = 4
_SHARE = 3
"""With several clients each gets this fraction of the events: the round still has several times as many in all."""

_Work = Callable[[str, Sequence[Item], int], Timings]

_OTHERS_OFF = {f"AzureWebJobs.{name}.Disabled": "true" for name in ("parser_function", "sweeper_function")}
"""A setting of the real host that turns the parser off: it would work at the same time in the same process."""


def measure(sizes: Sizes, steps: Steps) -> list[Figure]:
    """Measure requests through the functions host, and `receive` in process, for each number of clients."""
    steps.begin("receiver", sizes.receiver_rounds * len(sizes.receiver_clients) * 3)
    events = Replay().kept()
    with (
        child() as process,
        tempfile.TemporaryDirectory() as folder,
        Azurite(location=Path(folder) / "azurite") as azurite,
        _host(azurite, Path(folder)) as host,
    ):
        connection = azurite.connection_string

        sides: dict[str, tuple[_Work, str]] = {
            "bare": (bare, connection),
            "in process": (in_process, connection),
            "http": (posted, host.url),
        }

        def turns(clients: int, count: int, order: Iterable[str]) -> Iterator[tuple[str, Timings, float, float]]:
            for side in order:
                work, target = sides[side]
                items = _take(events, count)
                began, child_began = children_cpu(), process.run(time.process_time)
                timings = process.run(work, target, items, clients)
                child_seconds = process.run(time.process_time) - child_began
                yield side, timings, (children_cpu() - began) / count, child_seconds / count

        figures: list[Figure] = []
        cpu_figures: list[Figure] = []
        for clients in sizes.receiver_clients:
            steps.doing(f"receiver, {clients} at once")
            list(turns(clients, _WARM_UP * clients, sides))
            count = sizes.receiver_events * clients // (_SHARE if clients > 1 else 1)
            round_log = _Seen()
            for turn in range(sizes.receiver_rounds):
                order = list(sides) if turn % 2 else reversed(sides)
                for side, timings, cpu, child_cpu in turns(clients, count, order):
                    round_log.add(side, timings, cpu, child_cpu)
                    steps.done()
            filled = fullness(connection)
            figures += [
                round_log.figure("http", f"request, {clients} at once", goal=_GOAL, clients=clients, filled=filled),
                round_log.figure(
                    "in process", f"in process, {clients} at once", goal="", clients=clients, filled=filled
                ),
            ]
            cpu_figures += [
                round_log.cpu_figure("http", f"request, {clients} at once", clients=clients),
                round_log.cpu_figure("in process", f"in process, {clients} at once", clients=clients),
                round_log.limit_figure(f"limit, {clients} at once", clients=clients),
            ]
    return figures + cpu_figures


@contextmanager
def _host(azurite: Azurite, folder: Path) -> Iterator[FunctionsHost]:
    environment = {**os.environ, **_OTHERS_OFF, "AzureWebJobsStorage": azurite.connection_string}
    with FunctionsHost(app=ROOT, environment=environment, log=folder / "host.log") as host:
        yield host


def _take(events: Iterator[Item], count: int) -> tuple[Item, ...]:
    return tuple(itertools.islice(events, count))


@dataclass(slots=True)
class _Seen:
    """The timings of all rounds, and the CPU seconds that all processes took for a request, by side; and those of the
    process that makes the requests, in which our code runs on the side `in process`.
    """

    rounds: dict[str, list[Timings]] = field(default_factory=dict)
    cpu: dict[str, list[float]] = field(default_factory=dict)
    child_cpu: dict[str, list[float]] = field(default_factory=dict)

    def add(self, side: str, timings: Timings, cpu: float, child_cpu: float) -> None:
        self.rounds.setdefault(side, []).append(timings)
        self.cpu.setdefault(side, []).append(cpu)
        self.child_cpu.setdefault(side, []).append(child_cpu)

    def cpu_figure(self, side: str, name: str, *, clients: int) -> Figure:
        """Return the ratio of each round's CPU for a request, which other load of the machine changes little."""
        return self._cpu_figure(self.cpu[side], name, clients)

    def limit_figure(self, name: str, *, clients: int) -> Figure:
        """Return the ratio of each round's CPU for a request without what our code takes."""
        limits = [cpu - our_cpu for cpu, our_cpu in zip(self.cpu["http"], self.child_cpu["in process"], strict=True)]
        return self._cpu_figure(limits, name, clients)

    def _cpu_figure(self, cpu: list[float], name: str, clients: int) -> Figure:
        return Rounds(ours=cpu, others=self.cpu["bare"]).figure(
            benchmark=NAME,
            name=name,
            scale=1000,
            unit="ms CPU",
            compared_with=f"{_BESIDE}: CPU of all processes",
            sizes={"rounds": len(cpu), "clients": clients},
        )

    def figure(self, side: str, name: str, *, goal: str, clients: int, filled: dict[str, int]) -> Figure:
        """Return the ratio of each round's medians; the details have percentiles and rates of all rounds."""
        our_rounds, other_rounds = self.rounds[side], self.rounds["bare"]
        rounds = Rounds(
            ours=[median(timings.calls) for timings in our_rounds],
            others=[median(timings.calls) for timings in other_rounds],
        )
        return rounds.figure(
            benchmark=NAME,
            name=name,
            scale=1000,
            unit="ms p50",
            compared_with=_BESIDE,
            goal=goal,
            sizes={
                "rounds": len(our_rounds),
                "events_each": len(our_rounds[0].calls),
                "clients": clients,
                "azurite": filled,
            },
            details={"ours": _summary(our_rounds), "other": _summary(other_rounds)},
        )


def _summary(rounds: Sequence[Timings]) -> dict[str, float]:
    calls = [call for timings in rounds for call in timings.calls]
    return {
        "p50_ms": round(median(calls) * 1000, 2),
        "p99_ms": round(percentile(calls, 99) * 1000, 2),
        "per_second": round(len(calls) / sum(timings.total for timings in rounds), 1),
    }
