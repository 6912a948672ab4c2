"""Versions: what an older one wrote is told, listed, and moved; what a newer one wrote is left alone."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import pytest

from shared.catalog import MemoryCatalog
from shared.errors import Misconfigured
from shared.naming import BUILT_IN, Names
from shared.pipeline import (
    Archiving,
    Versions,
    archive,
    check_versions,
    mismatch,
    moves,
    publish,
    retire,
    settle_run,
    status,
    unseen,
    upgrade,
    written_with,
)
from shared.places import stored_from_blob
from shared.storage import MemoryStorage
from shared.translation import naming_of
from tests.shared.events import event, run_id, write
from tests.shared.test_publish import Clock, Moody, how
from tests.shared.test_settle import post

OLDER = Names(version="v0")
"""An older version of the naming, passed in as a part."""


def settled_by(names: Names, storage: MemoryStorage, *bodies: bytes) -> None:
    for run in dict.fromkeys(place.run_id for place in post(storage, *bodies)):
        for place in (place for place in _events(storage) if place.run_id == run and place.end):
            settle_run(storage, run, trigger=place, names=names)


def _events(storage: MemoryStorage) -> Iterator[Any]:
    return (stored_from_blob(fact.name) for fact in storage.blobs("events"))


@pytest.fixture
def storage() -> MemoryStorage:
    """Two processes that an older version named and published; one of them by two application runs."""
    storage = MemoryStorage()
    settled_by(OLDER, storage, *write("a", "app1", "10:00", "/a"), *write("b", "app1", "10:01", "/b", sink="/two"))
    settled_by(OLDER, storage, *write("c", "app2", "11:00", "/c"))
    return storage


@pytest.fixture(name="catalog")
def published(storage: MemoryStorage) -> Moody:
    catalog = Moody()
    publish(storage, catalog, how(Clock()))
    return catalog


def named(catalog: MemoryCatalog) -> set[str]:
    return {naming_of(name) for name in catalog.processes}


def same_but_for_names(catalog: MemoryCatalog) -> list[tuple[Any, ...]]:
    return sorted((each.inputs, each.outputs, each.attributes) for each in catalog.processes.values())


@pytest.mark.usefixtures("catalog")
def test_the_plan_lists_what_would_move_and_writes_nothing(storage: MemoryStorage) -> None:
    before = {table: list(storage.scan(table)) for table in ("runs", "contributions", "ledger", "dirty", "control")}
    found = sorted(moves(storage, BUILT_IN), key=lambda move: move.old)
    assert [(move.old, move.new, move.runs) for move in found] == [
        ("throughline:v0://tests/app/file/out", ("throughline:v1://tests/app/file/out",), 2),
        ("throughline:v0://tests/app/file/two", ("throughline:v1://tests/app/file/two",), 1),
    ]
    assert {table: list(storage.scan(table)) for table in before} == before
    assert list(moves(storage, OLDER)) == []


@pytest.mark.parametrize("archived", [False, True], ids=["in events", "in the archive"])
def test_all_is_moved_and_means_the_same(storage: MemoryStorage, catalog: Moody, archived: bool) -> None:
    before = same_but_for_names(catalog)
    if archived:
        assert archive(storage, Archiving(after=timedelta(0)))["archived"] == 6
    assert len(list(upgrade(storage, BUILT_IN))) == 2
    done = publish(storage, catalog, how(Clock()))
    assert (done.written, done.removed) == (2, 2)
    assert named(catalog) == {"v1"}
    assert same_but_for_names(catalog) == before
    found = status(storage)
    assert (found.published, found.processes, found.reconciles) == (6, 2, True)
    assert list(moves(storage, BUILT_IN)) == []
    assert list(upgrade(storage, BUILT_IN)) == []


def test_the_old_process_goes_once_the_new_one_is_written(storage: MemoryStorage) -> None:
    log: list[str] = []

    class Logging(Moody):
        def write_processes(self, processes: Any, guids: Any) -> dict[str, str]:
            log.extend(f"write {naming_of(each.qualified_name)}" for each in processes)
            return super().write_processes(processes, guids)

        def delete_process(self, type: str, qualified_name: str) -> None:  # noqa: A002 - the port's word
            log.append(f"remove {naming_of(qualified_name)}")
            super().delete_process(type, qualified_name)

    catalog = Logging()
    for batch in (1, 50):
        publish(storage, catalog, how(Clock()))
        log.clear()
        names = Names(version=f"v{100 + batch}")
        list(upgrade(storage, names))
        publish(storage, catalog, replace(how(Clock()), batch=batch))
        assert [line.split()[0] for line in log] == ["write", "write", "remove", "remove"]


def test_cut_off_it_goes_on(storage: MemoryStorage, catalog: Moody) -> None:
    assert len(list(islice(upgrade(storage, BUILT_IN), 1))) == 1
    publish(storage, catalog, how(Clock()))
    assert named(catalog) == {"v0", "v1"}
    assert len(list(moves(storage, BUILT_IN))) == 1
    list(upgrade(storage, BUILT_IN))
    publish(storage, catalog, how(Clock()))
    assert (named(catalog), len(catalog.processes)) == ({"v1"}, 2)


def test_a_new_run_meanwhile_is_not_lost(storage: MemoryStorage, catalog: Moody) -> None:
    steps = upgrade(storage, BUILT_IN)
    next(steps)
    settled_by(BUILT_IN, storage, *write("d", "app2", "12:00", "/d"))
    list(steps)
    publish(storage, catalog, how(Clock()))
    out = next(each for name, each in catalog.processes.items() if name.endswith("/out"))
    assert [name for _, name in out.inputs] == ["file:///a", "file:///c", "file:///d"]


def forget_events(storage: MemoryStorage, *runs: str) -> None:
    wanted = {run_id(run) for run in runs}
    for place in list(_events(storage)):
        if place.run_id in wanted:
            del storage._blobs["events"][place.blob]


def test_what_cannot_be_settled_again_keeps_its_word_under_the_new_name(storage: MemoryStorage, catalog: Moody) -> None:
    before = same_but_for_names(catalog)
    forget_events(storage, "a")
    list(upgrade(storage, BUILT_IN))
    publish(storage, catalog, how(Clock()))
    assert (named(catalog), same_but_for_names(catalog)) == ({"v1"}, before)


def test_what_nobody_can_say_again_stays_as_it_is(storage: MemoryStorage, catalog: Moody) -> None:
    before = same_but_for_names(catalog)
    forget_events(storage, "a", "b", "c")
    assert [move.stays for move in moves(storage, BUILT_IN)] == [True, True]
    list(upgrade(storage, BUILT_IN))
    publish(storage, catalog, how(Clock()))
    assert (named(catalog), same_but_for_names(catalog)) == ({"v0"}, before)
    assert status(storage).processes == 2


def test_words_of_more_runs_than_are_remembered_move_too() -> None:
    storage, catalog = MemoryStorage(), Moody()
    for number in range(70):
        settled_by(OLDER, storage, *write(f"r{number}", "app1", f"10:{number % 60:02}", "/a"))
    publish(storage, catalog, how(Clock()))
    list(upgrade(storage, BUILT_IN))
    publish(storage, catalog, how(Clock()))
    assert named(catalog) == {"v1"}
    assert [row for row in storage.scan("contributions") if row.values.get("content")] != []
    assert list(moves(storage, BUILT_IN)) == []


def test_a_renamed_sink_moves_with_its_history() -> None:
    storage, catalog = MemoryStorage(), Moody()
    rename = event("r", "COMPLETE", "10:02:00", outputs=["/final"], states={"/final": ("RENAME", "/draft")},
                   application="app1", job="app.execute_alter_table_rename_command.x")  # fmt: skip
    settled_by(OLDER, storage, *write("w", "app1", "10:00", "/a", sink="/draft"), rename)
    publish(storage, catalog, how(Clock()))
    before = same_but_for_names(catalog)
    list(upgrade(storage, BUILT_IN))
    publish(storage, catalog, how(Clock()))
    assert (named(catalog), same_but_for_names(catalog)) == ({"v1"}, before)
    assert list(moves(storage, BUILT_IN)) == []


def test_what_was_retired_stays_so_under_its_new_name(storage: MemoryStorage, catalog: Moody) -> None:
    for each in list(unseen(storage, datetime(2027, 1, 1, tzinfo=UTC))):
        retire(storage, each)
    publish(storage, catalog, how(Clock()))
    list(upgrade(storage, BUILT_IN))
    publish(storage, catalog, how(Clock()))
    assert catalog.processes == {}
    settled_by(BUILT_IN, storage, *write("new", "app3", "2026-11-22T10:00", "/n"))
    publish(storage, catalog, how(Clock()))
    assert named(catalog) == {"v1"}


def test_the_first_start_notes_the_versions() -> None:
    storage = MemoryStorage()
    assert check_versions(storage) == ""
    assert written_with(storage) == Versions()


@pytest.mark.usefixtures("catalog")
def test_what_was_there_before_versions_were_noted_is_the_first(storage: MemoryStorage) -> None:
    assert written_with(storage) == Versions(naming="v1", layout=1)
    assert "throughline upgrade" in check_versions(storage, Versions(naming="v2"))
    assert storage.read("control", "versions", "written") is None, "it is noted once all is moved"


@pytest.mark.parametrize(
    ("written", "now", "words"),
    [
        (Versions(naming="v1", layout=1), Versions(naming="v1", layout=1), ""),
        (Versions(naming="v1", layout=1), Versions(naming="v2", layout=1), "`throughline upgrade`"),
        (Versions(naming="v1", layout=1), Versions(naming="v1", layout=2), "`throughline upgrade`"),
        (Versions(naming="v9", layout=1), Versions(naming="v10", layout=1), "`throughline upgrade`"),
    ],
)
def test_older_versions_are_told(written: Versions, now: Versions, words: str) -> None:
    assert words in mismatch(written, now)
    assert bool(mismatch(written, now)) is bool(words)


@pytest.mark.parametrize(
    "written", [Versions(naming="v2", layout=1), Versions(naming="v1", layout=2), Versions(naming="v0", layout=2)]
)
def test_a_newer_version_is_left_alone(written: Versions) -> None:
    with pytest.raises(Misconfigured, match="newer Throughline"):
        mismatch(written, Versions(naming="v1", layout=1))
