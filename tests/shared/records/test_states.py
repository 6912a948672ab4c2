"""The tables of docs/concepts/states.md hold together, have the names in code, and random histories keep to them."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from shared.applications.processor import ApplicationProcessor
from shared.applications.rows import run_of
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.events.dead_letters import dead_letters, discard
from shared.maintenance.replay import replay_dead_letters
from shared.publishing.context import PublishOptions
from shared.records.ledger import LedgerEntry
from shared.records.publish_queue import read_queue
from shared.records.states import EventState, LedgerState, QueueState, State
from shared.storage.memory import MemoryStorage
from shared.storage.port import Operation, Row
from shared.storage_layout import APPLICATIONS, CATALOG, EVENTS, PROCESSES, PUBLISH_QUEUE, stored_from_blob
from tests.support.chaos import EPOCH, simulate_history
from tests.support.dead_letters import replace_blob
from tests.support.events import event, run_id, write
from tests.support.histories import history
from tests.support.memory_catalog import MemoryCatalog
from tests.support.processing import deliver_blob
from tests.support.publishing import publish
from tests.support.receiving import receive

PAGE = Path(__file__).parents[3] / "docs/concepts/states.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A section of the page: the drawing's first state and its arrows; the states and the changes of its tables."""

    title: str
    begins: str
    arrows: tuple[tuple[str, str], ...]
    states: tuple[str, ...]
    changes: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, section: str) -> "Machine":
        """Of the text below a heading."""
        begins, *arrows = re.findall(r"^    (\S+) --> (\w+)$", section, re.MULTILINE)
        rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
        return cls(
            title=section.partition("\n")[0],
            begins=begins[1],
            arrows=tuple(arrows),
            states=tuple(row[0] for row in rows if len(row) == 2)[1:],
            changes=tuple((row[0], row[1]) for row in rows if len(row) == 3)[1:],
        )


MACHINES = tuple(Machine.of(section) for section in PAGE.read_text().split("\n## ") if "stateDiagram" in section)
EVENT, RUN, HELD, QUEUE = MACHINES


class Watching(MemoryStorage):
    """A store that observes: `seen` counts each change of a state that a write caused."""

    def __init__(self, clock: Callable[[], float] = lambda: 0.0) -> None:
        super().__init__(clock)
        self.seen: Counter[tuple[str, str, str]] = Counter()
        self._verdicts: dict[tuple[str, str], State] = {}
        self._queue: dict[str, QueueState] = {}
        self._in_transaction = False

    def _write(self, table: str, row: Row) -> str:
        stored = self._row(table, row.partition, row.key)
        etag = super()._write(table, row)
        self._look(table, stored, row)
        return etag

    def delete(self, table: str, partition: str, key: str, etag: str | None = None) -> bool:
        with self._lock:
            stored = self._row(table, partition, key)
            is_gone = super().delete(table, partition, key, etag)
            if stored and is_gone:
                self._look(table, stored, None)
            return is_gone

    def transact(self, table: str, operations: Sequence[Operation]) -> tuple[str, ...] | None:
        with self._lock:
            self._in_transaction = True
            etags = super().transact(table, operations)
            self._in_transaction = False
            if table == PUBLISH_QUEUE:
                self._look_at_queue()
            return etags

    def _look(self, table: str, stored: Row | None, row: Row | None) -> None:
        if table == PUBLISH_QUEUE and not self._in_transaction:
            self._look_at_queue()
        elif table == PROCESSES and row and row.key == CATALOG:
            held_ledger_state = LedgerEntry.of(stored).state if stored else LedgerState.NOTHING
            self.seen[HELD.title, held_ledger_state, LedgerEntry.of(row).state] += 1
        elif table == APPLICATIONS and row and row.key.startswith("run|") and not (record := run_of(row, self)).home:
            run = (row.partition, record.run_id)
            self.seen[RUN.title, self._verdicts.get(run, State.RECEIVED), record.verdict] += 1
            self._verdicts[run] = record.verdict

    def _look_at_queue(self) -> None:
        now = EPOCH + timedelta(seconds=self.clock())
        queue = {entry.target: entry.state(now) for entry in read_queue(self).entries if not entry.is_asset}
        for target in queue.keys() | self._queue.keys():
            change = (self._queue.get(target, QueueState.IDLE), queue.get(target, QueueState.IDLE))
            self.seen[QUEUE.title, *change] += 1
        self._queue = queue


def forbidden(seen_counts: Counter[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """The changes that no table has."""
    allowed = {(machine.title, *change) for machine in MACHINES for change in machine.changes}
    return [change for change in seen_counts if change[1] != change[2] and change not in allowed]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.title)
def test_a_state_machine_defines_each_change_once_and_reaches_every_state(machine: Machine) -> None:
    assert len(machine.changes) == len(set(machine.changes))
    assert all(old_state != new_state for old_state, new_state in machine.changes)
    reached = {machine.begins}
    for _ in machine.states:
        reached |= {new_state for old_state, new_state in machine.changes if old_state in reached}
    assert reached == set(machine.states)
    assert {old_state for old_state, _ in machine.changes} == set(
        machine.states
    )  # nothing ends for ever: replay comes back
    assert machine.arrows == machine.changes, "the drawing and the table differ"


@pytest.mark.parametrize(
    ("machine", "states"),
    [(EVENT, EventState), (RUN, State), (HELD, LedgerState), (QUEUE, QueueState)],
    ids=lambda value: getattr(value, "title", ""),
)
def test_the_page_has_the_names_of_the_states_in_code(machine: Machine, states: type[StrEnum]) -> None:
    assert machine.states == tuple(states)


def test_a_change_that_no_table_has_is_detected() -> None:
    assert forbidden(Counter({(HELD.title, LedgerState.NOTHING, LedgerState.WRITTEN): 1})) != []
    assert forbidden(Counter({(RUN.title, State.CONTRIBUTED, State.WAITING): 1})) != []
    assert forbidden(Counter({(EVENT.title, EventState.RECEIVED, EventState.PUBLISHED): 1})) != []
    assert forbidden(Counter({(QUEUE.title, QueueState.IDLE, QueueState.REFUSED): 1})) != []


@pytest.mark.parametrize(
    ("life", "seeds"),
    [({"workers": 1}, range(40)), ({"workers": 3, "duplicates": 3, "death": 0.01}, range(40, 90))],
    ids=["calm", "deadly"],
)
def test_random_histories_make_only_changes_that_the_tables_have(life: dict[str, Any], seeds: range) -> None:
    seen_counter: Counter[tuple[str, str, str]] = Counter()
    for seed in seeds:
        storage = simulate_history(history(seed, longest=8), seed=seed, storage=Watching, **life).storage
        assert isinstance(storage, Watching)
        assert forbidden(storage.seen) == [], f"seed {seed}"
        seen_counter += storage.seen
    assert {
        (HELD.title, LedgerState.NOTHING, LedgerState.WRITING),
        (HELD.title, LedgerState.WRITTEN, LedgerState.WRITING),
    } <= set(seen_counter)
    assert {
        (RUN.title, State.RECEIVED, State.CONTRIBUTED),
        (QUEUE.title, QueueState.PENDING, QueueState.IDLE),
    } <= set(seen_counter)


class Moody(MemoryCatalog):
    """A catalog that refuses, or is unavailable, a given number of times."""

    moods: list[Exception]

    def write_processes(self, *arguments: Any) -> dict[str, str]:
        if self.moods:
            raise self.moods.pop()
        return super().write_processes(*arguments)


def deliver_all(storage: MemoryStorage, spoil: str = "") -> None:
    """Deliver the received events; blobs with `spoil` in their names are broken until then."""
    for fact in list(storage.blobs(EVENTS)):
        packed_event = storage.get(EVENTS, fact.name)
        assert packed_event
        if spoil and spoil in fact.name:
            replace_blob(storage, stored_from_blob(fact.name), b"broken")
            deliver_blob(storage, fact.name)
            replace_blob(storage, stored_from_blob(fact.name), packed_event)
        else:
            deliver_blob(storage, fact.name, packed_event)


def test_refusals_and_replays_make_only_changes_that_the_tables_have() -> None:
    days = [0]
    storage, catalog = Watching(clock=lambda: 86400.0 * days[0]), Moody()
    options = PublishOptions(now=lambda: EPOCH + timedelta(days=days[0]))
    refusal = CatalogRefused(status=400, code="", detail="no")
    barred = CatalogRefused(status=403, code="", detail="no")
    catalog.moods = [CatalogUnavailable("away", after=1), refusal, refusal, barred]
    dead = event("b", "COMPLETE", "10:00:00", inputs=["/a"], application="app")
    for body in (*write("a", "app", "10:00", "/a"), dead):
        receive(storage, body, most_bytes=10**6)
    deliver_all(storage, spoil=run_id("b"))
    for days[0] in range(6):
        publish(storage, catalog, options)
    assert catalog.processes
    assert catalog.moods == []
    (letter,) = dead_letters(storage)
    discard(storage, letter.digest)
    processor = ApplicationProcessor(storage=storage)
    assert [letter.outcome.value for letter in replay_dead_letters(processor, lambda _: True)] == ["used"]
    assert forbidden(storage.seen) == []
    assert {(RUN.title, State.RECEIVED, State.DEAD), (RUN.title, State.DEAD, State.SKIPPED)} <= set(storage.seen)
    assert {
        (QUEUE.title, QueueState.REFUSED, QueueState.IDLE),
        (QUEUE.title, QueueState.PENDING, QueueState.REFUSED),
    } <= set(storage.seen)
    assert (HELD.title, LedgerState.WRITING, LedgerState.NOTHING) in storage.seen
