"""Checkpoints: a saved position is loaded, and work that began later keeps its own."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

import pytest

from shared.records.control import ARCHIVE, RECONCILE, Checkpoint
from shared.storage.memory import MemoryStorage
from shared.sweeping.listing import SWEEP, SweepPosition, Visit


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
