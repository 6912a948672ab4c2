"""Timer triggers: schedules, and the functions that the host calls by them."""

from datetime import UTC, datetime
from itertools import islice, pairwise
from pathlib import Path

import pytest

from tests.local.hosting import sample, wait_for
from throughline.local.host.timers import occurrences

START = datetime(2026, 1, 31, 23, 59, 58, tzinfo=UTC)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("* * * * * *", ["2026-01-31T23:59:59", "2026-02-01T00:00:00"]),
        ("0 */5 * * * *", ["2026-02-01T00:00:00", "2026-02-01T00:05:00"]),
        ("30 9 1,13 * * MON-FRI", ["2026-02-02T01:09:30", "2026-02-02T13:09:30"]),
    ],
)
def test_a_schedule_gives_its_next_times(schedule: str, expected: list[str]) -> None:
    """Six fields with the seconds first."""
    assert [time.isoformat()[:19] for time in islice(occurrences(schedule, START), 2)] == expected


@pytest.mark.parametrize("schedule", ["*/5 * * * *", "0 61 * * * *", "hourly", "* * * * * * *"])
def test_an_invalid_schedule_is_refused(schedule: str) -> None:
    """For example five fields, which could be mistaken for another format."""
    with pytest.raises(ValueError, match=r"six fields|Bad"):
        occurrences(schedule, START)


def test_a_timer_fires_and_never_twice_at_once(tmp_path: Path) -> None:
    """It takes longer than its interval: due times during a run are skipped."""
    with sample("timers", tmp_path, {"SCHEDULE": "*/1 * * * * *"}) as app:
        host = app.start()
        assert wait_for(lambda: len(app.notes("begin")) >= 2)
        assert host.end() == 0, "it waits for the current run"
        notes = app.notes("begin", "end")
        assert [note["what"] for note in notes] == ["begin", "end"] * (len(notes) // 2)
        assert len(notes) >= 4
        assert all(later_note["at"] >= earlier["at"] for earlier, later_note in pairwise(notes))
