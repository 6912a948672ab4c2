"""Rows about the work itself: the functions' settings, whole after a crash or a concurrent write; checkpoints."""

import gc
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from random import Random

import pytest

import sweeper_function
from shared.bootstrap import worker
from shared.errors import Misconfigured
from shared.records.control import ARCHIVE, RECONCILE, Checkpoint, record_settings, settings_on_record
from shared.storage.memory import MemoryStorage
from shared.storage.port import Row, Storage
from shared.storage_layout import CONTROL
from shared.sweeping.listing import SWEEP, SweepPosition, Visit
from tests.support.azurite import on_azurite
from tests.support.crashes import Killed, KilledAtCall

OLD = {"THROUGHLINE_APPLICATION_IDLE_MINUTES": "60", "THROUGHLINE_SHADOW": "true"}
NEW = {"THROUGHLINE_APPLICATION_IDLE_MINUTES": "5", "THROUGHLINE_SHADOW": "false"}


@pytest.fixture(params=["memory", "azurite"])
def storage(request: pytest.FixtureRequest) -> Iterator[Storage]:
    memory_storage = (
        MemoryStorage()
        if request.param == "memory"
        else on_azurite(request.getfixturevalue("azurite").connection_string)
    )
    memory_storage.delete(CONTROL, "settings", "functions")
    yield memory_storage
    memory_storage.delete(CONTROL, "settings", "functions")


def texts(storage: Storage) -> object:
    settings = settings_on_record(storage)
    return settings.texts if settings else None


def test_settings_are_recorded_once_and_again_only_when_they_change(storage: Storage) -> None:
    assert settings_on_record(storage) is None
    assert record_settings(storage, OLD, now=datetime(2026, 11, 21, tzinfo=UTC))
    assert not record_settings(storage, dict(reversed(OLD.items()))), "the same settings in another order"
    settings_record = settings_on_record(storage)
    assert settings_record
    assert (settings_record.texts, settings_record.since) == (OLD, datetime(2026, 11, 21, tzinfo=UTC))
    assert record_settings(storage, NEW)
    assert texts(storage) == NEW


@pytest.mark.parametrize("size", [0, 1, 200_000, 1_000_000])
def test_a_large_file_of_names_comes_back_whole(storage: Storage, size: int) -> None:
    """A megabyte of hexadecimal digits, the largest file that `THROUGHLINE_NAMES` takes, packs to a half of it."""
    names = Random(7).randbytes(size // 2).hex()
    record_settings(storage, {"THROUGHLINE_NAMES": names})
    assert texts(storage) == {"THROUGHLINE_NAMES": names}


def test_the_row_of_a_newer_version_is_not_misread() -> None:
    storage = MemoryStorage()
    storage.insert(CONTROL, Row(partition="settings", key="functions", values={"form": 2}))
    with pytest.raises(Misconfigured, match="newer version"):
        settings_on_record(storage)


@pytest.mark.parametrize("settings_before", [None, OLD], ids=["first", "changed"])
@pytest.mark.parametrize("dies_after", [False, True], ids=["before the call", "after it"])
@pytest.mark.parametrize("call", [1, 2])
def test_a_process_that_dies_at_any_call_leaves_the_old_row_or_the_new_one(
    settings_before: dict[str, str] | None, call: int, *, dies_after: bool
) -> None:
    storage = MemoryStorage()
    if settings_before:
        record_settings(storage, settings_before)
    with pytest.raises(Killed):
        record_settings(KilledAtCall(storage, call, dies_after=dies_after), NEW)
    assert texts(storage) in (settings_before, NEW)
    record_settings(storage, NEW)
    assert texts(storage) == NEW


def test_the_last_of_two_concurrent_writers_wins() -> None:
    """The other writes between our reading and our writing."""

    class Between(MemoryStorage):
        calls = 0

        def read(self, table: str, partition: str, key: str) -> Row | None:
            row = super().read(table, partition, key)
            Between.calls += 1
            if Between.calls == 1:
                record_settings(self, OLD)
            return row

    storage = Between()
    record_settings(storage, NEW)
    assert texts(storage) == NEW, "the last one wins"


def test_after_a_deployment_the_row_has_the_settings_of_the_new_processes() -> None:
    """An old process starts late, after the new ones: the next tick of a new sweeper corrects the row."""
    storage = MemoryStorage()
    record_settings(storage, OLD)
    record_settings(storage, NEW)  # a new process starts
    record_settings(storage, OLD)  # an old instance restarts
    assert texts(storage) == OLD
    record_settings(storage, NEW)  # the tick of a new one
    assert texts(storage) == NEW
    assert not record_settings(storage, NEW), "and nothing more is written"


class Tick:
    """A timer's request."""

    past_due = False


ENDPOINT = "http://127.0.0.1:9/datamap/api/atlas/v2"


def test_a_process_of_the_functions_records_its_settings_and_each_tick_checks_them(
    monkeypatch: pytest.MonkeyPatch, empty_account: str
) -> None:
    environment = {
        "AzureWebJobsStorage": empty_account,
        "THROUGHLINE_CATALOG_ENDPOINT": ENDPOINT,
        "THROUGHLINE_CATALOG_TOKEN": "geheim",
        "THROUGHLINE_APPLICATION_IDLE_MINUTES": "5",
    }
    for name, text in environment.items():
        monkeypatch.setenv(name, text)
    worker.cache_clear()
    collector = gc.get_threshold()
    try:
        parts = worker()
        settings_record = settings_on_record(parts.storage)
        assert settings_record
        assert settings_record.texts["THROUGHLINE_APPLICATION_IDLE_MINUTES"] == "5"
        assert settings_record.texts["THROUGHLINE_CATALOG_ENDPOINT"] == ENDPOINT
        assert "geheim" not in str(settings_record.texts)
        record_settings(parts.storage, {**settings_record.texts, "THROUGHLINE_APPLICATION_IDLE_MINUTES": "60"})
        sweeper_function.main(Tick())  # type: ignore[arg-type]  # stands for a timer's request
        second_record = settings_on_record(parts.storage)
        assert second_record
        assert second_record.texts["THROUGHLINE_APPLICATION_IDLE_MINUTES"] == "5"
    finally:
        worker.cache_clear()
        gc.unfreeze()
        gc.set_threshold(*collector)


class Stage(StrEnum):
    """A part of the work."""

    FIRST = "first stage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """How far it has come."""

    began: datetime
    stage: Stage = Stage.FIRST
    after: str = ""


AT = datetime(2026, 11, 21, 10, 0, 0, 123456, tzinfo=UTC)


@pytest.mark.parametrize(
    ("checkpoint", "position"),
    [
        (RECONCILE, AT),
        (SWEEP, SweepPosition()),
        (SWEEP, SweepPosition(visits={"2026/11/21/10/": Visit(AT, AT)}, last_folder="2026/11/21/10/", is_behind=True)),
        (Checkpoint(name="backfill", position=str), ""),
        (Checkpoint(name="rebuild", position=Position), Position(began=AT, after="2026/11/21/ä|\u2028")),
    ],
    ids=["a time", "no visit", "a sweep that is behind", "an empty text", "a record"],
)
def test_a_position_is_loaded_as_it_was_saved(checkpoint: Checkpoint[object], position: object) -> None:
    storage = MemoryStorage()
    assert checkpoint.load(storage) is None
    checkpoint.save(storage, position)
    assert checkpoint.load(storage) == position
    assert ARCHIVE.load(storage) is None, "each has its own row"
    checkpoint.clear(storage)
    assert checkpoint.load(storage) is None


def test_the_checkpoint_of_work_that_began_later_stays() -> None:
    storage = MemoryStorage()
    first = ARCHIVE.save(storage, AT)
    ARCHIVE.save(storage, AT.replace(hour=11))
    ARCHIVE.clear(storage, first)
    assert ARCHIVE.load(storage) == AT.replace(hour=11)
