"""How a transaction fails in the histories."""

import random
from collections.abc import Callable

import pytest

from shared.errors import StorageUnavailable
from shared.storage.memory import MemoryStorage
from shared.storage.port import Operation, OperationKind, Row
from tests.faults.fault_injection import Faults, Faulty
from tests.faults.scheduler import Killed, Scheduler


def _transact(real: MemoryStorage, fault: str, kind: OperationKind = OperationKind.INSERT) -> Callable[[], object]:
    faults = Faults(scheduler=Scheduler(), chance=random.Random(0), at=(1, fault))
    operations = [Operation(kind=kind, row=Row(partition="p", key=key)) for key in "ab"]
    return lambda: Faulty(real, "storage", faults).transact("t", operations)


@pytest.mark.parametrize(
    ("fault", "error", "keys"),
    [
        ("before", StorageUnavailable, []),
        ("after", StorageUnavailable, ["a", "b"]),
        ("death before", Killed, []),
        ("death after", Killed, ["a", "b"]),
    ],
)
def test_a_transaction_fails_before_or_after_it_takes_effect(
    fault: str, error: type[BaseException], keys: list[str]
) -> None:
    real = MemoryStorage()
    with pytest.raises(error):
        _transact(real, fault)()
    assert [row.key for row in real.partition("t", "p")] == keys


def test_a_transaction_that_took_effect_may_be_answered_as_refused() -> None:
    real = MemoryStorage()
    assert _transact(real, "race")() is None
    assert [row.key for row in real.partition("t", "p")] == ["a", "b"]
    assert _transact(real, "race", OperationKind.UPSERT)(), "without a condition its repetition succeeds"
