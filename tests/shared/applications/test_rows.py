"""What one process remembers of the applications that it has folded."""

from shared.applications.rows import BlobCache


def test_the_latest_events_are_remembered_as_far_as_they_fit() -> None:
    cache = BlobCache(most_bytes=10)
    for key, value in (("a", b"1234"), ("b", b"1234"), ("a", b"12"), ("c", b"1234"), ("d", b"1234")):
        cache.put(key, value)
    assert [cache.get(key) for key in "abcd"] == [b"12", None, b"1234", b"1234"]
    cache.put("e", bytes(300 * 1024))
    assert cache.get("e") is None
    assert cache.get("d") == b"1234", "one that is large takes the place of no other"
