"""Checkpoints: a saved position is loaded, and work that began later keeps its own."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

import pytest

from shared.records.checkpoint import ARCHIVE, RECONCILE, SWEEP, Checkpoint, SweepPosition
from shared.storage.memory import MemoryStorage


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
        (SWEEP, SweepPosition(decided_until=AT, full_sweep_due=AT.replace(hour=11))),
        (SWEEP, SweepPosition(decided_until=AT, full_sweep_due=AT.replace(hour=11), reached=AT, is_full=True)),
        (Checkpoint(name="backfill", position=str), ""),
        (Checkpoint(name="rebuild", position=Position), Position(began=AT, after="2026/11/21/ä|\u2028")),
    ],
    ids=["a time", "two times", "a sweep that is not done", "an empty text", "a record"],
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
