"""The listener without and with the plan: how facts are counted, and that the jar does not change its events."""

from collections.abc import Sequence

import pytest

from tests.capture.beside import Tally, table, tally, without_plans
from tests.capture.scenario import GOLDEN, WITH_PLANS, Versions, scenarios
from tests.capture.truth import Truth

MERGE = scenarios()["customer_merge"]
FACTS_OF_MERGE = 19


def _events(capture: str, scenario: str) -> Sequence[bytes]:
    return (GOLDEN / capture / scenario / "events.jsonl").read_bytes().splitlines()


def test_only_the_plan_reports_the_condition_of_a_merge() -> None:
    truth, events = Truth.whole(MERGE.truth), _events("spark35-ol1.53-plan", MERGE.name)
    assert tally(truth, events) == Tally(writes=2, exact=FACTS_OF_MERGE)
    assert tally(truth, without_plans(events)) == Tally(writes=1, exact=FACTS_OF_MERGE - 1, missing=1)
    assert tally(truth, []) == Tally(missing=FACTS_OF_MERGE)
    assert tally(Truth(processes=truth.processes[:1]), events).wrong > 0


@pytest.mark.parametrize("scenario", ["queries", "delta_tables", "names", "iceberg"])
@pytest.mark.parametrize("versions", WITH_PLANS, ids=lambda versions: versions.platform.short)
def test_the_jar_does_not_change_the_listener_s_own_report(scenario: str, versions: Versions) -> None:
    truth = Truth.whole(scenarios()[scenario].truth)
    alone_tally = tally(truth, _events(versions.name.removesuffix("-plan"), scenario))
    assert tally(truth, without_plans(_events(versions.name, scenario))) == alone_tally


def test_the_last_row_of_the_table_has_the_sums() -> None:
    rows = [line.strip("| ").split(" | ") for line in table([MERGE]) if line.startswith(f"| {MERGE.name} ")]
    sums = [line.strip("| ").split(" | ") for line in table([MERGE]) if line.startswith("| **all** ")]
    assert [row[1:] for row in rows] == [row[1:] for row in sums]
    assert len(rows) == len(WITH_PLANS)
