"""`python -m tests.bench.logs` measures the functions' logs, and docs/reference/requests.md has its figures."""

import re
from pathlib import Path

import pytest

from tests.bench.log_rows import EXAMPLES, HOST_LINES, Volume, row_of
from tests.bench.logs import TICKS, measure
from tests.infra.kusto.analyser import TABLES

PAGE = (Path(__file__).parents[1] / "docs/reference/requests.md").read_text()
MILLION = 1_000_000
NEW_JOB, SAME_JOB = "a new job", "the same job again"


@pytest.fixture(scope="module")
def measured() -> dict[str, dict[str, Volume]]:
    return measure()


def test_the_receiver_logs_one_line_and_one_call_for_each_event(measured: dict[str, dict[str, Volume]]) -> None:
    for turn in (NEW_JOB, SAME_JOB):
        receiver = measured[f"{turn}: receiver"]
        assert receiver["AppTraces"].rows == pytest.approx(MILLION)
        assert receiver["AppRequests"].rows == pytest.approx(MILLION)
        assert receiver["filtered"].rows == pytest.approx(len(HOST_LINES) * MILLION)
        assert 0 < measured[f"{turn}: parser"]["AppTraces"].rows < 2 * MILLION
    assert measured["idle sweep"]["AppTraces"].rows == TICKS


def test_a_row_is_billed_by_its_bytes() -> None:
    """In UTF-8, for all columns."""
    base_size = row_of("AppTraces").bytes
    assert row_of("AppTraces", "event run=1 job=größe").bytes == base_size + len("event run=1 job=größe") + 2
    assert base_size == sum(len(value) for value in EXAMPLES["AppTraces"].values())


@pytest.mark.parametrize("table", sorted(set(EXAMPLES) & set(TABLES)))
def test_an_example_row_has_only_columns_of_its_table(table: str) -> None:
    assert set(EXAMPLES[table]) <= set(TABLES[table])


def test_the_page_has_the_measured_figures(measured: dict[str, dict[str, Volume]]) -> None:
    rows = {cells[0].strip(): [*map(_number, cells[1:])] for cells in _table("| what | rows | GB, new jobs |")}
    for title, phases, name in (
        ("receiver's lines (`AppTraces`)", [f"{NEW_JOB}: receiver", f"{SAME_JOB}: receiver"], "AppTraces"),
        ("receiver's calls (`AppRequests`)", [f"{NEW_JOB}: receiver", f"{SAME_JOB}: receiver"], "AppRequests"),
        ("parser's and publisher's lines (`AppTraces`)", [f"{NEW_JOB}: parser", f"{SAME_JOB}: parser"], "AppTraces"),
        ("parser's calls (`AppRequests`)", [f"{NEW_JOB}: parser", f"{SAME_JOB}: parser"], "AppRequests"),
        ("archive's lines (`AppTraces`)", ["archive", "archive"], "AppTraces"),
    ):
        found = [measured[phase][name] for phase in phases]
        gigabytes = [volume.bytes / 10**9 for volume in found]
        assert rows.pop(title) == pytest.approx([found[0].rows / MILLION, *gigabytes], abs=0.02), title
    together = rows["**together**"]
    assert together[1:] == pytest.approx(
        [
            sum(
                volume.bytes / 10**9
                for phase, volumes in measured.items()
                for name, volume in volumes.items()
                if phase.startswith((turn, "archive")) and name.startswith("App")
            )
            for turn in (NEW_JOB, SAME_JOB)
        ],
        abs=0.05,
    )
    deleted = measured["archive"]["StorageBlobLogs"]
    assert rows["with `logDeletes`: a row for each deleted blob (`StorageBlobLogs`)"][:2] == pytest.approx(
        [deleted.rows / MILLION, deleted.bytes / 10**9], abs=0.02
    )
    filtered = measured[f"{NEW_JOB}: receiver"]["filtered"] + measured[f"{NEW_JOB}: parser"]["filtered"]
    assert rows["filtered by `host.json`: two lines of the host for each call"][:2] == pytest.approx(
        [filtered.rows / MILLION, filtered.bytes / 10**9], abs=0.02
    )


def _table(head: str) -> list[list[str]]:
    lines = PAGE[PAGE.index(head) :].partition("\n\n")[0].splitlines()[2:]
    return [line.strip("|").split("|") for line in lines]


def _number(cell: str) -> float:
    match = re.search(r"\d+\.\d+", cell)
    assert match, cell
    return float(match[0])
