"""Names of blobs and keys of rows: an event is read back from either as it was stored."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from shared.storage_layout import (
    StoredEvent,
    event_of_reference,
    event_of_row_key,
    stamp,
    stored_from_blob,
)
from tests.support.events import run_id

MOMENTS = (
    datetime(2026, 11, 23, 1, 2, 3, 45, UTC),
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC),
    datetime(2028, 2, 29, 13, 30, tzinfo=timezone(timedelta(hours=5, minutes=30))),
)


@pytest.mark.parametrize("moment", MOMENTS, ids=str)
def test_an_event_is_read_back_from_its_blob_and_its_row(moment: datetime) -> None:
    event = StoredEvent(application=run_id("app"), run_id=run_id("a"), time=moment, type="COMPLETE", digest="0" * 32)
    assert stored_from_blob(event.blob) == event
    assert event_of_row_key(event.row_key, event.application) == event
    assert event_of_reference(event.run_id, event.reference) == event
    assert event_of_row_key(event.row_key, event.application).time.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    ["", "20261123T010203Z", "20261123T010203000045", "20261323T010203000045Z", "20261123T250203000045Z", "x" * 22],
)
def test_a_row_with_another_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        event_of_row_key(f"event|{run_id('a')}|{text}|START|{'0' * 32}", run_id("a"))


def test_stamps_sort_as_times() -> None:
    assert sorted(MOMENTS) == sorted(MOMENTS, key=stamp)
