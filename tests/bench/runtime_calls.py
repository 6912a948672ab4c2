"""`python -m tests.bench.runtime_calls`: an event's storage calls, behind the receiver's two, by the way events come.

Storage and catalog are in memory; a query costs a call for each thousand rows that it reads, as in Azure. What a call
takes depends on where storage is, so these counts are what a worker costs there. Beside them: the rows that are read
and written for an event in the publish queue and of data sets, two partitions that all applications share, and in the
partition of its application.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from rich.console import Console
from rich.table import Table

from shared.applications.delivery import Delivery
from shared.applications.processor import ApplicationProcessor
from shared.ingest.receiver import Receiver
from shared.publishing.context import PublishContext, PublishOptions
from shared.publishing.publisher import Publisher
from shared.storage.memory import MemoryStorage
from shared.storage_layout import APPLICATIONS, ASSETS, EVENTS, PUBLISH_QUEUE, event_of_blob
from tests.bench.replay import Family, Item, Replay, families
from tests.support.events import event
from tests.support.memory_catalog import MemoryCatalog

PAGE = 1000
"""Entities that a query returns in one answer (Azure Table Storage, "Query timeout and pagination")."""
_LISTS = frozenset({"partition", "scan", "blobs", "children"})
_EVENTS = 250
_MOST_BYTES = 1 << 26


class CountedCalls:
    """Forwards calls to storage and counts them, a query by its pages."""

    def __init__(self, storage: MemoryStorage) -> None:
        self._storage = storage
        self.calls: Counter[str] = Counter()
        self.rows: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._storage, name)
        if not callable(method):
            return method

        def call(*arguments: Any, **named: Any) -> Any:
            answer = method(*arguments, **named)
            place = arguments[0] if arguments and isinstance(arguments[0], str) else ""
            call_name = f"{name} {place}".rstrip()
            self.calls[call_name] += 1
            if name not in _LISTS:
                self.rows[place] += len(arguments[1]) if name == "transact" else 1
                return answer
            return self._pages(call_name, place, answer)

        return call

    def _pages(self, call_name: str, place: str, rows: Iterator[Any]) -> Iterator[Any]:
        while page := list(islice(rows, PAGE)):
            self.rows[place] += len(page)
            yield from page
            if len(page) == PAGE:
                self.calls[call_name] += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """The calls of a scenario, the rows that they read and wrote by table, and the events that it sent."""

    events: int
    calls: Counter[str]
    rows: Counter[str]

    @property
    def rate(self) -> float:
        """Calls for each event."""
        return self.calls.total() / self.events


class Inbox(MemoryStorage):
    """Storage that notes the names of the events that arrive."""

    def __init__(self) -> None:
        super().__init__()
        self.arrived: list[str] = []

    def put_new(self, container: str, name: str, data: bytes) -> bool:
        """As the port says."""
        is_new = super().put_new(container, name, data)
        if is_new and container == EVENTS:
            self.arrived.append(name)
        return is_new


class Runtime:
    """Receiver, parser and publisher of one process, in memory."""

    def __init__(self) -> None:
        self.memory = Inbox()
        self.storage: Any = CountedCalls(self.memory)
        self.events = 0
        self.context = PublishContext(
            storage=self.storage, catalog=MemoryCatalog(), publishing=PublishOptions(debounce=timedelta(0))
        )
        self._delivery = Delivery(processor=ApplicationProcessor(storage=self.storage, memory=self.context.memory))
        self._receiver = Receiver(storage=self.memory, max_body_bytes=_MOST_BYTES)

    def receive(self, bodies: Sequence[bytes]) -> list[str]:
        """Receive events, which are not counted: the names of their blobs."""
        self.memory.arrived.clear()
        for body in bodies:
            self._receiver.receive(body)
        self.events += len(bodies)
        return sorted(self.memory.arrived)

    def deliver(self, blobs: Sequence[str]) -> None:
        """Process events in the order of their times."""
        places = sorted(((event_of_blob(blob), blob) for blob in blobs), key=lambda pair: pair[0].time)  # type: ignore[union-attr]  # all are names of events
        for place, blob in places:
            if place:
                self._delivery.deliver(place, self.memory.get(EVENTS, blob) or b"")

    def publish(self) -> None:
        """Publish what is due."""
        Publisher(context=self.context).publish(looks=False)

    def count(self) -> Count:
        """What was counted."""
        return Count(events=self.events, calls=Counter(self.storage.calls), rows=Counter(self.storage.rows))

    def restart(self) -> None:
        """Count from here on."""
        self.storage.calls.clear()
        self.storage.rows.clear()
        self.events = 0


def _kept(application: Sequence[Item]) -> list[bytes]:
    return [item.raw for item in application if item.kept]


def _jobs() -> list[Family]:
    """The captures of one listener: a further capture of another one must not change what is counted."""
    return [family for family in families() if family.name.startswith("spark35-ol1.53/")]


def one_by_one() -> Count:
    """Captured applications, each event processed when it comes; published after each application."""
    runtime = Runtime()
    for application in Replay(seed=1, among=_jobs()).applications(_EVENTS):
        for body in _kept(application):
            runtime.deliver(runtime.receive([body]))
        runtime.publish()
    return runtime.count()


def together() -> Count:
    """The same, but an application's events arrive before the first of them is processed."""
    runtime = Runtime()
    for application in Replay(seed=1, among=_jobs()).applications(_EVENTS):
        runtime.deliver(runtime.receive(_kept(application)))
        runtime.publish()
    return runtime.count()


def unchanged_rerun() -> Count:
    """Twelve captured jobs on their second day, each event processed when it comes."""
    runtime = Runtime()
    jobs = _jobs()[:12]
    replay = Replay(seed=2, among=jobs)
    for day in range(2):
        if day:
            runtime.restart()
        for _ in jobs:
            for body in _kept(replay.application()):
                runtime.deliver(runtime.receive([body]))
            runtime.publish()
    return runtime.count()


def _times(number: int) -> str:
    begin = datetime(2026, 11, 21, 8, tzinfo=UTC) + timedelta(milliseconds=10 * number)
    return f"{begin:%Y-%m-%dT%H:%M:%S.%f}"


def burst() -> Count:
    """Two thousand runs of one application, which all arrive before the first is processed."""
    runtime = Runtime()
    bodies = []
    for number in range(2000):
        fields: Any = {"application": "app", "inputs": ["/a"], "outputs": [f"/b{number % 20}"]}
        bodies += [
            event(f"r{number}", "START", _times(2 * number), **fields),
            event(f"r{number}", "COMPLETE", _times(2 * number + 1), **fields),
        ]
    runtime.deliver(runtime.receive(bodies))
    runtime.publish()
    return runtime.count()


def applications() -> Count:
    """Two hundred new applications at once, with three processes and six new data sets each."""
    runtime = Runtime()
    bodies = []
    for number in range(200):
        name = f"app{number}"
        bodies.append(event(name, "START", _times(10 * number)))
        for step in range(3):
            fields: Any = {"application": name, "inputs": [f"/in{number}/{step}"], "outputs": [f"/out{number}/{step}"]}
            fields |= {"job": f"{name}.execute_insert_into_hadoop_fs_relation_command.out"}
            bodies += [
                event(f"{name} {step}", "START", _times(10 * number + 2 * step + 1), **fields),
                event(
                    f"{name} {step}",
                    "COMPLETE",
                    _times(10 * number + 2 * step + 2),
                    columns={"y": [(f"/in{number}/{step}", "x")]},
                    states={f"/out{number}/{step}": ("CREATE", "")},
                    **fields,
                ),
            ]
        bodies.append(event(name, "COMPLETE", _times(10 * number + 9)))
    blobs = [blob for body in bodies for blob in runtime.receive([body])]
    runtime.deliver(blobs)
    runtime.publish()
    return runtime.count()


def stream() -> Count:
    """A stream that writes by foreachBatch, four events a batch, published after each batch."""
    runtime = Runtime()
    for number in range(300):
        moment = timedelta(seconds=20 * number)

        def at(seconds: float, moment: timedelta = moment) -> str:
            return f"{datetime(2026, 11, 21, tzinfo=UTC) + moment + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S.%f}"

        batch: Any = {"application": "app", "streaming": True, "inputs": ["/in"]}
        write: Any = {"application": "app", "outputs": ["/out"]}
        for body in (
            event(f"batch {number}", "START", at(0), **batch),
            event(f"write {number}", "START", at(1), **write),
            event(f"write {number}", "COMPLETE", at(2), **write),
            event(f"batch {number}", "COMPLETE", at(3), **batch),
        ):
            runtime.deliver(runtime.receive([body]))
        runtime.publish()
    return runtime.count()


SCENARIOS: dict[str, Callable[[], Count]] = {
    "one by one": one_by_one,
    "arrived together": together,
    "unchanged daily rerun": unchanged_rerun,
    "burst of 2,000 runs": burst,
    "200 applications": applications,
    "foreachBatch stream": stream,
}


def main() -> int:
    """Print the counts."""
    table = Table(
        "scenario", "events", "calls an event", "rows: queue", "assets", "application", "most often", box=None
    )
    for name, scenario in SCENARIOS.items():
        count = scenario()
        top_calls = ", ".join(
            f"{call_name} {number / count.events:.2f}" for call_name, number in count.calls.most_common(5)
        )
        rows = [f"{count.rows[table_name] / count.events:.2f}" for table_name in (PUBLISH_QUEUE, ASSETS, APPLICATIONS)]
        table.add_row(name, f"{count.events:,}", f"{count.rate:.2f}", *rows, top_calls)
    Console(highlight=False, width=200).print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
