"""Records as rows, and what one process remembers of the applications that it has folded."""

import random

import pytest

from shared.applications.rows import BlobCache, run_of, run_row
from shared.applications.state import RunRecord
from shared.errors import ContentLost
from shared.storage.memory import MemoryStorage
from shared.storage_layout import CONTENTS


def test_the_latest_events_are_remembered_as_far_as_they_fit() -> None:
    cache = BlobCache(most_bytes=10)
    for key, value in (("a", b"1234"), ("b", b"1234"), ("a", b"12"), ("c", b"1234"), ("d", b"1234")):
        cache.put(key, value)
    assert [cache.get(key) for key in "abcd"] == [b"12", None, b"1234", b"1234"]
    cache.put("e", bytes(300 * 1024))
    assert cache.get("e") is None
    assert cache.get("d") == b"1234", "one that is large takes the place of no other"


def test_a_record_that_is_too_long_for_a_row_is_a_blob() -> None:
    storage = MemoryStorage()
    record = RunRecord(
        run_id="run", events=tuple(random.Random(number).randbytes(50_000).hex() for number in range(16))
    )
    row = run_row("app", record, storage)
    assert sum(len(value) for value in row.values.values() if isinstance(value, (bytes, str))) < 100
    assert run_of(row, storage) == record
    (blob,) = storage.blobs(CONTENTS)
    storage.delete_blob(CONTENTS, blob.name)
    with pytest.raises(ContentLost, match=blob.name):
        run_of(row, storage)
