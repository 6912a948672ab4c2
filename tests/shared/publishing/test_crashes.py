"""A publisher that is killed at any call: the next ones leave the catalog as if nothing had happened."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from shared.publishing.publisher import Publisher
from shared.records.assets import all_assets
from shared.records.ledger import ledger_entries
from shared.records.publish_queue import QueueEntry, put_queued
from shared.records.states import LedgerState
from shared.storage.memory import MemoryStorage
from shared.storage_layout import PROCESSES, QUEUED_ASSET, asset_key
from tests.support.building import IDENTITY, body, dataset, lineage, packed, source
from tests.support.events import event
from tests.support.memory_catalog import MemoryCatalog
from tests.support.publish_world import (
    Clock,
    Killed,
    context_of,
    entries,
    fold,
    lasting_asset,
    publish,
    publish_options,
)
from tests.support.runtime import Runtime

WAIT = timedelta(minutes=4)
"""How long a killed publisher may delay a process."""


class Fatal:
    """A store or catalog whose user is killed at its nth call of all (`left`), before or after that takes effect."""

    def __init__(self, real: Any, call_budget: list[int], *, dies_after: bool) -> None:
        self._real, self._left, self._after = real, call_budget, dies_after

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._real, name)
        if not callable(method) or name in {"calls_to_write", "may_still_land"}:
            return method

        def called(*arguments: Any, **named: Any) -> Any:
            self._left[0] -= 1
            if self._left[0] == 0 and not self._after:
                raise Killed
            answer = method(*arguments, **named)
            if isinstance(answer, Iterator):
                answer = iter(list(answer))
            if self._left[0] == 0:
                raise Killed
            return answer

        return called


def job(
    run: str, *columns: tuple[str, str], read: str = "/source", sink: str = "/sink", minute: float = 0, **fields: Any
) -> bytes:
    """A run that copies a column and reports columns of what it reads."""
    schema = {"fields": [{"name": name, "type": kind} for name, kind in columns]}
    copied = lineage({"x": [source(read, "x", IDENTITY)]})
    return packed(
        body(
            fields.pop("kind", "COMPLETE"),
            run=run,
            application=f"{run} application",
            app_name=sink,
            minute=minute,
            inputs=[dataset(read, schema=schema) if columns else read],
            outputs=[dataset(sink, columnLineage=copied)],
        )
    )


X, Y, Z = ("x", "int"), ("y", "string"), ("z", "date")
HISTORY: tuple[tuple[bytes, ...], ...] = (
    (job("one", X, Y), job("two", Z, sink="/other")),
    (
        job("three", X, minute=5),
        event("drop", "COMPLETE", "10:06:00", outputs=["/other"], states={"/other": ("DROP", "")}),
    ),
    (
        job("one", X, Y, kind="FAIL", minute=7),
        job("two", Z, sink="/other", kind="FAIL", minute=8),
        job("four", Y, minute=9, read="/elsewhere"),
    ),
)
"""Rounds of events, each of which is published: new processes, other columns, a drop, a process that goes."""


def publish_rounds(
    storage: Any, catalog: Any, clock: Clock, rounds: tuple[tuple[bytes, ...], ...], real: MemoryStorage
) -> None:
    context = context_of(storage, catalog, publish_options(clock, seconds=clock.seconds))
    for events in rounds:
        fold(real, *events)
        Publisher(context=context).publish()
        clock.at += timedelta(seconds=5)


def calm(storage: MemoryStorage, catalog: MemoryCatalog, clock: Clock) -> None:
    """Publish until nothing is left, as the sweeper does."""
    for _ in range(60):
        clock.at += timedelta(minutes=1)
        publish(storage, catalog, publish_options(clock, seconds=clock.seconds))
    assert [entry for entry in entries(storage, revisits=True) if entry.due < clock.at + timedelta(days=1)] == []


def ends(storage: MemoryStorage, catalog: MemoryCatalog) -> tuple[Any, ...]:
    ledger = {
        entry.qualified_name: (entry.state, entry.fingerprint, entry.assets)
        for entry in ledger_entries(storage)
        if entry.state is LedgerState.WRITTEN
    }
    reports = {record.own: (record.reports, record.changes) for record in all_assets(storage)}
    used_keys = {key for process in catalog.processes.values() for key in (*process.inputs, *process.outputs)}
    return catalog.processes, {key: lasting_asset(catalog.assets[key]) for key in used_keys}, ledger, reports


def expected() -> tuple[tuple[Any, ...], int]:
    """The end of a history without a crash, and its number of calls."""
    storage, catalog, clock, call_budget = MemoryStorage(), MemoryCatalog(), Clock(), [10**9]
    storage = MemoryStorage(clock=clock.seconds)
    publish_rounds(
        Fatal(storage, call_budget, dies_after=True),
        Fatal(catalog, call_budget, dies_after=True),
        clock,
        HISTORY,
        storage,
    )
    calm(storage, catalog, clock)
    return ends(storage, catalog), 10**9 - call_budget[0]


END, CALLS = expected()


@pytest.mark.parametrize("dies_after", [False, True], ids=["before", "after"])
def test_a_publisher_that_is_killed_at_any_call_changes_nothing_in_the_end(*, dies_after: bool) -> None:
    assert CALLS > 50
    for number in range(1, CALLS + 1):
        clock = Clock()
        storage, catalog, call_budget = MemoryStorage(clock=clock.seconds), MemoryCatalog(), [number]
        fatal = Fatal(storage, call_budget, dies_after=dies_after), Fatal(catalog, call_budget, dies_after=dies_after)
        rounds = list(HISTORY)
        while rounds:
            try:
                publish_rounds(*fatal, clock, tuple(rounds[:1]), storage)
            except Killed:
                clock.at += timedelta(seconds=70)  # the lease ends
            rounds.pop(0)
        calm(storage, catalog, clock)
        assert ends(storage, catalog) == END, f"killed at call {number}"


def test_a_data_set_that_was_put_off_is_read_again_by_a_publisher_that_knows_it() -> None:
    """A publisher that had lost its lease may have written its record since: as in history 210."""
    first = Runtime()
    first.run(job("one", X, Y))
    second = Runtime(storage=first.storage, catalog=first.catalog)
    key = next(key for key, asset in first.catalog.assets.items() if asset.columns)
    first.catalog.describe_placeholder(replace(first.catalog.assets[key], columns=()), bare=True)
    late = second.assets.read(second.storage, [key])[key]
    second.assets.put(structs.replace(late, shown=""))
    second.assets.flush(second.storage)
    target = f"{QUEUED_ASSET}{asset_key(key)}"
    put_queued(second.storage, QueueEntry(target=target, due=first.now, revisit=True))
    first.publish()
    assert first.catalog.assets[key].columns == (X, Y)


class Stalling:
    """Storage that answers a read of processes only after `seconds`, when another publisher has the lease."""

    def __init__(self, real: MemoryStorage) -> None:
        self._real, self.seconds = real, 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def partition(self, table: str, *arguments: Any, **named: Any) -> Any:
        if table == PROCESSES and not self.seconds:
            self.seconds = 300.0
            self._real._leases.clear()
            assert self._real.lease("publisher", 60)
        return self._real.partition(table, *arguments, **named)


def test_a_publisher_that_lost_its_lease_while_it_read_writes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """The headers that it has read may be old: another one may have published later states."""
    stalling = Stalling(MemoryStorage())
    runtime = Runtime(storage=stalling)
    runtime.post(job("one", X, Y))
    runtime.publish(seconds=lambda: stalling.seconds)
    assert not runtime.catalog.processes
    assert "another publisher has begun" in caplog.text
    stalling._real._leases.clear()
    runtime.publish()
    assert len(runtime.catalog.processes) == 1
