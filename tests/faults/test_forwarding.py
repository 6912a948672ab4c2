"""Forwarding loses no run, wherever it is interrupted; planted defects are detected."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from shared.storage.memory import MemoryStorage
from shared.storage.port import Operation, OperationKind, Row
from shared.storage_layout import APPLICATIONS, FORWARD, FORWARD_PARTITION, PUBLISH_QUEUE
from tests.faults.fault_injection import Rates
from tests.faults.forwarding import Plan, differences, main, plan_of, simulate

SHARE = 16
"""Histories that every test run simulates."""
CALM = Plan(seed=3, runs=3, seconds=2400)


def test_every_history_ends_as_if_nothing_had_failed() -> None:
    fault_counts, taken_count = Counter[str](), 0
    for seed in range(SHARE):
        end_state = simulate(plan_of(seed))
        fault_counts += end_state.met
        taken_count += sum(len(target.taken) for target in end_state.targets.values())
        wrong = differences(end_state, plan_of(seed))
        assert not wrong, f"python -m tests.faults.forwarding --seeds {seed} {seed + 1}: {wrong}"
    assert {*(name for name in Rates.__slots__ if name != "refused"), "target"} <= set(fault_counts), (
        "each kind was met"
    )
    assert taken_count > 8 * SHARE


def test_without_faults_no_content_leaves_twice() -> None:
    for seed in range(4):
        plan = Plan(seed=seed, runs=6)
        end_state = simulate(plan)
        assert differences(end_state, plan) == []
        assert set(end_state.met) == {"well"}


@pytest.mark.parametrize(
    ("first", "kind"), [*enumerate(["death before", "death after", "after", "before", "late", "race"], start=1)]
)
def test_a_fault_at_any_one_call_loses_no_run(first: int, kind: str) -> None:
    """Repeat the same history, each time with a fault at another call, of every eighteenth one: each kind at others."""
    fault_count = 0
    for number in range(3 * first, simulate(CALM).calls + 1, 18):
        plan = replace(CALM, at=(number, kind))
        end_state = simulate(plan)
        fault_count += end_state.met[kind]
        assert differences(end_state, plan) == [], f"call {number}"
    assert fault_count > 3


class MarksAfterCommit(MemoryStorage):
    """The defect: the mark of a run is left after the commit, and so never by a worker that dies in between."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]  # those of the storage
        self.delayed: list[Sequence[Operation]] = []

    def transact(self, table: str, operations: Sequence[Operation]) -> tuple[str, ...] | None:
        if table == PUBLISH_QUEUE and operations[0].row.partition == FORWARD_PARTITION:
            if operations[0].kind is OperationKind.UPSERT:
                self.delayed.append(operations)
                return ("",) * len(operations)
        elif table == APPLICATIONS and self.delayed:
            etags = super().transact(table, operations)
            if len(self.delayed) % 4:  # one worker in four dies here
                super().transact(PUBLISH_QUEUE, self.delayed[-1])
            return etags
        return super().transact(table, operations)


class ForgetsEntries(MemoryStorage):
    """The defect: a run that a target did not take goes from its outbox."""

    def transact(self, table: str, operations: Sequence[Operation]) -> tuple[str, ...] | None:
        if table == FORWARD and len(operations) > 1 and operations[1].row.key.startswith("open|"):
            operations = [operations[0], *operations[2:]]
        return super().transact(table, operations)


class RemembersNothing(MemoryStorage):
    """The defect: nobody notes what a target has."""

    def read(self, table: str, partition: str, key: str) -> Row | None:
        return None if table == FORWARD and key.startswith("run|") else super().read(table, partition, key)


@pytest.mark.parametrize("defect", [MarksAfterCommit, ForgetsEntries, RemembersNothing])
def test_a_planted_defect_is_detected(defect: type[MemoryStorage]) -> None:
    assert any(differences(simulate(plan_of(seed), defect), plan_of(seed)) for seed in range(SHARE))


def test_the_command_prints_the_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "0", "3"]) == 0
    assert "3 histories" in capsys.readouterr().out
