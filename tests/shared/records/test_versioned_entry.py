"""Versioned entries: the newest version wins in any order, and old ones make room without bringing anything back."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.records.versioned_entry import Entries, VersionedEntry, contents, merge_entry

START = datetime(2026, 11, 21, tzinfo=UTC)
Write = tuple[str, VersionedEntry[str]]


def entry(generation: int, content: str | None, minute: int = 0) -> VersionedEntry[str]:
    return VersionedEntry(generation, START + timedelta(minutes=minute), content)


def written(writes: Iterable[Write], most: int = 100) -> tuple[Entries[str], list[str]]:
    entries: Entries[str] = {}
    left: list[str] = []
    for run, each in writes:
        entries, gone = merge_entry(entries, run, each, most=most)
        left += gone
    return entries, left


CASES: dict[str, tuple[list[Write], tuple[str, ...]]] = {
    "a first one": ([("a", entry(1, "x"))], ("x",)),
    "a newer one": ([("a", entry(1, "x")), ("a", entry(2, "y"))], ("y",)),
    "an older one, written late": ([("a", entry(2, "y")), ("a", entry(1, "x"))], ("y",)),
    "the same generation again": ([("a", entry(1, "x")), ("a", entry(1, "y"))], ("x",)),
    "a retraction": ([("a", entry(1, "x")), ("a", entry(2, None))], ()),
    "an older one after its retraction": ([("a", entry(2, None)), ("a", entry(1, "x"))], ()),
    "added again after a retraction": ([("a", entry(2, None)), ("a", entry(3, "z"))], ("z",)),
    "of two runs": ([("a", entry(5, "x")), ("b", entry(1, "y"))], ("x", "y")),
    "an empty content is a content": ([("a", entry(1, ""))], ("",)),
}


@pytest.mark.parametrize(("writes", "stands"), CASES.values(), ids=CASES)
def test_the_contents_are_those_of_the_newest_versions(writes: list[Write], stands: tuple[str, ...]) -> None:
    assert contents(written(writes)[0]) == stands


def test_a_superseded_version_does_not_change_the_entries() -> None:
    entries, _ = written([("a", entry(2, "y"))])
    assert merge_entry(entries, "a", entry(2, "z"), most=1)[0] is entries


VERSIONS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(1, 9), st.sampled_from(["x", "y", None])),
    unique_by=lambda each: each[:2],
)


@given(VERSIONS, st.randoms(use_true_random=False))
def test_the_order_of_versions_does_not_matter(versions: list[tuple[str, int, str | None]], random: Random) -> None:
    writes = [(run, entry(generation, content)) for run, generation, content in versions]
    shuffled = sorted(writes, key=lambda _: random.random())
    assert dict(written(writes)[0]) == dict(written(shuffled)[0])
    latest = {run: max(each.generation for other, each in writes if other == run) for run, _ in writes}
    assert {run: each.generation for run, each in written(shuffled)[0].items()} == latest


def test_the_oldest_entries_are_dropped_and_retractions_displace_no_contents() -> None:
    standing = [(f"s{minute}", entry(1, f"c{minute}", minute)) for minute in (3, 1, 4, 2)]
    retracted = [(f"r{minute}", entry(1, None, minute + 10)) for minute in range(5)]
    entries, left = written([*standing, *retracted], most=3)
    assert sorted(contents(entries)) == ["c2", "c3", "c4"]
    assert left == ["c1"]
    assert sorted(run for run, each in entries.items() if each.retracted) == ["r2", "r3", "r4"]


def test_entries_are_stored_and_read_back_whole() -> None:
    entries, _ = written([("a", entry(1, "x")), ("b", entry(2, None))])
    assert msgspec.json.decode(msgspec.json.encode(entries), type=dict[str, VersionedEntry[str]]) == entries
