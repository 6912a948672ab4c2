"""Retiring, purging and shadow mode, killed before or after any one call to storage, and repeated."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from shared.applications.processor import ApplicationProcessor
from shared.applications.recompute import recompute
from shared.catalog.port import batches
from shared.maintenance.removal import purge, retire, unseen_processes, unused_placeholders
from shared.publishing.context import remove_unlinked
from shared.publishing.shadow import leave_shadow_mode
from shared.reporting.status import status
from shared.storage.memory import MemoryStorage
from tests.support.crashes import Killed, KilledAtCall
from tests.support.events import event, run_id, write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.processing import deliver_event, post
from tests.support.publishing import Clock, context_of, leased, publish, publish_options

BEFORE = datetime(2026, 8, 1, tzinfo=UTC)


def prepared() -> tuple[MemoryStorage, MemoryCatalog]:
    """Three published processes; one is unseen for long, one made by a rename."""
    storage, catalog = MemoryStorage(), MemoryCatalog()
    rename = event("r", "COMPLETE", "10:02:00", outputs=["/final"], states={"/final": ("RENAME", "/draft")},
                   application="app1", job="app.execute_alter_table_rename_command.x")  # fmt: skip
    bodies = (
        *write("old", "app0", "2026-01-01T10:00", "/a", sink="/gone"),
        *write("a", "app1", "10:00", "/a", sink="/draft"),
        rename,
        *write("b", "app1", "10:03", "/b"),
    )
    for place in post(storage, *bodies):
        deliver_event(storage, place)
    publish(storage, catalog, publish_options(Clock()))
    return storage, catalog


def do_retire(storage: Any, catalog: MemoryCatalog, clock: Clock) -> None:
    leaving = list(unseen_processes(storage, BEFORE))
    unused_keys = list(unused_placeholders(context_of(storage, catalog, publish_options(clock)), leaving))
    for unseen_process in leaving:
        retire(storage, unseen_process)
    publish(storage, catalog, publish_options(clock))
    for keys in batches(unused_keys, 50):
        leased(remove_unlinked, context_of(storage, catalog), keys)


def do_purge(storage: Any, catalog: MemoryCatalog, clock: Clock) -> None:
    list(purge(context_of(storage, catalog, replace(publish_options(clock), batch=2))))


def do_shadow(storage: Any, catalog: MemoryCatalog, clock: Clock) -> None:
    """In shadow mode a run is withdrawn and all is marked; then shadow mode ends."""
    recompute(ApplicationProcessor(storage=storage), run_id("app1"))
    recompute(ApplicationProcessor(storage=storage), run_id("app0"))
    publish(storage, catalog, replace(publish_options(clock), shadow=True))
    leave_shadow_mode(storage, publish_options(clock))
    publish(storage, catalog, publish_options(clock))


def outcome(storage: MemoryStorage, catalog: MemoryCatalog) -> tuple[Any, ...]:
    current_status = status(storage)
    counts = (
        current_status.published,
        current_status.skipped_because,
        current_status.waiting_for,
        current_status.processes,
        current_status.shadow,
    )
    return sorted(catalog.processes.items()), sorted(catalog.assets), counts, current_status.reconciles


def outcomes_when_killed(
    work: Callable[[Any, MemoryCatalog, Clock], None], *, dies_after: bool, stride: int = 1
) -> Iterator[tuple[Any, ...]]:
    """The outcomes of work that is killed at its first, second … call (in steps of `stride`) and repeated; the last one
    is that of work that was not killed.
    """
    for calls in count(2 if dies_after else 1, stride):
        storage, catalog = prepared()
        clock = Clock()
        is_done = True
        try:
            work(KilledAtCall(storage, calls, dies_after=dies_after), catalog, clock)
        except Killed:
            is_done = False
            storage._leases.clear()  # the lease runs out
            clock.at += timedelta(hours=1)
            work(storage, catalog, clock)
        yield outcome(storage, catalog)
        if is_done:
            return


@pytest.mark.parametrize("dies_after", [False, True])
@pytest.mark.parametrize("work", [do_purge, do_shadow])
def test_a_purge_or_shadow_mode_killed_at_any_call_and_repeated_ends_the_same(
    work: Callable[[Any, MemoryCatalog, Clock], None], dies_after: bool
) -> None:
    outcomes = list(outcomes_when_killed(work, dies_after=dies_after))
    assert len(outcomes) > 20
    assert [killed_outcome for killed_outcome in outcomes if killed_outcome != outcomes[-1]] == []
    assert outcomes[-1][-1] is True


@pytest.mark.parametrize("dies_after", [False, True])
def test_a_retirement_killed_at_any_call_and_repeated_retires_the_same(dies_after: bool) -> None:
    outcomes = list(outcomes_when_killed(do_retire, dies_after=dies_after))
    assert len(outcomes) > 20
    assert [killed_outcome for killed_outcome in outcomes if killed_outcome != outcomes[-1]] == []
    assert [name.rpartition("/")[2] for name, _ in outcomes[-1][0]] == ["final", "out"]
