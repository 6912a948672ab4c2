"""The watch loses no message and decides none twice, wherever it is interrupted; planted defects are detected."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from shared.storage.port import Operation, Row
from shared.storage_layout import CONTROL, WATCH
from tests.faults.fault_injection import Rates
from tests.faults.watching import Plan, RecordingStorage, differences, main, plan_of, simulate
from tests.plugins.sample import Sample
from tests.support.outbox import messages_on_record

SHARE = 50
"""Histories that every test run simulates."""


def test_every_history_ends_as_if_nothing_had_failed() -> None:
    fault_counts, decided = Counter[str](), Counter[str]()
    for seed in range(SHARE):
        end_state = simulate(plan_of(seed))
        fault_counts += end_state.met
        decided += Counter(message.message.topic.value for message in messages_on_record(end_state.storage))
        assert not (wrong := differences(end_state)), (
            f"python -m tests.faults.watching --seeds {seed} {seed + 1}: {wrong}"
        )
    assert {*(name for name in Rates.__slots__ if name != "refused"), "channel"} <= set(fault_counts), (
        "each kind was met"
    )
    assert decided.total() > 4 * SHARE
    assert {"schema", "lineage", "mask", "gate"} <= set(decided)


CALM = Plan(seed=2, states=3, seconds=700.0)


def test_without_faults_each_message_is_sent_once() -> None:
    end_state = simulate(CALM)
    assert differences(end_state) == []
    assert end_state.channels["all"].taken
    assert set(end_state.channels["all"].taken.values()) == {1}


@pytest.mark.parametrize("kind", ["death before", "death after", "after", "before", "late", "race"])
def test_a_fault_at_any_one_call_loses_no_message_and_decides_none_twice(kind: str, sample: Sample) -> None:
    """Repeat the same history, each time with a fault at another call of its first announcement."""
    calls = sample(range(1, simulate(CALM).calls + 1))
    fault_count = 0
    for number in calls:
        end_state = simulate(replace(CALM, at=(number, kind)))
        fault_count += end_state.met[kind]
        assert differences(end_state) == [], f"call {number}"
    assert fault_count > len(calls) / 2


class AnnouncesFirst(RecordingStorage):
    """The defect: a comparison is closed before its messages are decided."""

    def replace(self, table: str, row: Row) -> str | None:
        if table == CONTROL and row.values.get("pending"):
            row = replace(row, values={**row.values, "announced": row.values["pending"]})
        return super().replace(table, row)


class ForgetsDecisions(RecordingStorage):
    """The defect: a message is recorded although it is already on record."""

    def transact(self, table: str, operations: Sequence[Operation]) -> tuple[str, ...] | None:
        for operation in operations:
            if table == WATCH and operation.row.key.startswith("message|"):
                self.delete(table, operation.row.partition, operation.row.key)
        return super().transact(table, operations)


class ListsForOne(RecordingStorage):
    """The defect: a decided message is listed for one of its channels alone."""

    def transact(self, table: str, operations: Sequence[Operation]) -> tuple[str, ...] | None:
        is_decision = table == WATCH and operations[0].row.key.startswith("message|")
        return super().transact(table, operations[:2] if is_decision else operations)


@pytest.mark.parametrize("defect", [AnnouncesFirst, ForgetsDecisions, ListsForOne])
def test_a_planted_defect_is_detected(defect: type[RecordingStorage]) -> None:
    wrong = {difference for seed in range(SHARE // 2) for difference in _wrong(seed, defect)}
    assert wrong


def _wrong(seed: int, defect: type[RecordingStorage]) -> list[str]:
    plan = plan_of(seed)
    plan = replace(plan, rates=replace(plan.rates, death=0.03))
    return differences(simulate(plan, defect))


def test_the_command_prints_the_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "0", "3"]) == 0
    assert "3 histories" in capsys.readouterr().out
