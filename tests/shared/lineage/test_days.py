"""Days of lineage: differences restore any sequence exactly; one document of two days has the lineage of each."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from shared.lineage.building import KnownProcess, document_of
from shared.lineage.days import difference, end_of, of_two_days, restored
from shared.lineage.document import (
    Column,
    Dataset,
    Edge,
    FailedTest,
    Flow,
    Health,
    Kind,
    LineageDocument,
    Process,
    SchemaChange,
    Tag,
    UnreadableDocumentError,
    decoded,
    encoded,
)
from shared.lineage.graph import document_at
from shared.lineage.questions import Difference, differences
from tests.support.lineage import HOUR, NOON, document, edge, process, random_document

DAY = date(2026, 11, 1)
texts = st.sampled_from(["", "a", "b", "orders", "é\u2028"])
numbers = st.integers(-1, 4)
times = st.integers(0, 3).map(lambda day: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day))


def tuples(items: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(items, max_size=5).map(tuple)


documents = st.builds(
    LineageDocument,
    format=st.just(2),
    source=st.sampled_from(["record", "lake"]),
    history=st.booleans(),
    times=tuples(times),
    datasets=tuples(st.builds(Dataset, qualified_name=texts, type=texts, name=texts, owner=texts, tags=tuples(texts))),
    columns=tuples(st.builds(Column, numbers, texts, texts, st.booleans())),
    processes=tuples(
        st.builds(
            Process,
            qualified_name=texts,
            name=texts,
            inputs=tuples(numbers),
            outputs=tuples(numbers),
            health=st.sampled_from(Health),
            last_run=texts,
            first_seen=numbers,
            last_seen=numbers,
        )
    ),
    flows=tuples(st.builds(Flow, numbers, numbers, numbers, numbers, numbers)),
    edges=tuples(st.builds(Edge, numbers, numbers, numbers, st.sampled_from(Kind), description=texts)),
    tags=tuples(st.builds(Tag, numbers, texts)),
    failed_tests=tuples(st.builds(FailedTest, numbers, texts, texts, st.none() | times)),
    schema_changes=tuples(st.builds(SchemaChange, numbers, texts, texts, times)),
)
"""Also what no job gives: unsorted, with repeated names and numbers that there are not."""


@given(st.lists(documents, min_size=2, max_size=5))
def test_any_sequence_of_documents_is_restored_exactly(sequence: list[LineageDocument]) -> None:
    base, *later_documents = sequence
    for lineage_document in later_documents:
        assert encoded(restored(base, difference(base, DAY, lineage_document))) == encoded(lineage_document)


@pytest.mark.parametrize("seed", range(20))
def test_documents_with_history_are_restored_exactly(seed: int) -> None:
    base, later_document = random_document(seed), random_document(seed + 1)
    assert encoded(restored(base, difference(base, DAY, later_document))) == encoded(later_document)


def estate(tables: int, *, hours: int = 0, extra: bool = False) -> LineageDocument:
    """Tables that are each made of one, by processes whose last runs are so many hours later."""
    names = [f"t{number:04}" for number in range(tables)]
    processes = [
        process(
            f"load {name}", source, name, *(edge(f"{source}.c{column}", f"{name}.c{column}") for column in range(5))
        )
        for source, name in pairwise(names)
    ]
    if extra:
        processes.append(process("first", "a0", "a1", edge("a0.x", "a1.x")))
    last = NOON + timedelta(hours=hours)
    return document_of(
        "record", [KnownProcess(process=lineage_process, first=NOON, last=last) for lineage_process in processes]
    )


def test_a_data_set_that_renumbers_all_others_makes_a_small_difference() -> None:
    base, later_document = estate(200), estate(200, hours=24, extra=True)
    small = difference(base, DAY, later_document)
    assert encoded(restored(base, small)) == encoded(later_document)
    parts = msgspec.json.decode(small)["parts"]
    assert len(parts["edges"]) <= 3
    assert next(step for step in parts["processes"] if "set" in step)["set"] == {"last_seen": 1}
    assert len(difference(base, DAY, base)) < 400


@pytest.mark.parametrize(
    ("part", "damaged_part"),
    [
        (b"]}}", b"]}"),
        (b"[[0,1]", b"[[1,1]"),
        (b"[[0,1]", b"[[0,99999]"),
        (b"[[0,1]", b"[[-1,1]"),
        (b'"new"', b'"old"'),
        (b'"source":"record"', b'"source":7'),
        (b'"source":"record"', b'"sauce":"record"'),
        (b'"digest":"', b'"digest":"0'),
    ],
)
def test_a_damaged_difference_is_an_error(part: bytes, damaged_part: bytes) -> None:
    base = document(
        process("a", "raw", "clean", edge("raw.x", "clean.x")), process("z", "clean", "zone", edge("clean.x", "zone.y"))
    )
    later_document = document(
        process("a", "raw", "clean", edge("raw.x", "clean.x")),
        process("z", "clean", "zone", edge("clean.x", "zone.y")),
        process("b", "clean", "mart", edge("clean.x", "mart.y")),
    )
    data = difference(base, DAY, later_document)
    assert encoded(restored(base, data)) == encoded(later_document)
    assert part in data
    with pytest.raises(UnreadableDocumentError):
        restored(base, data.replace(part, damaged_part))


def test_a_difference_from_another_base_is_an_error() -> None:
    base, later_document = estate(5), estate(6)
    other = structs.replace(base, datasets=base.datasets[::-1])
    with pytest.raises(UnreadableDocumentError, match="document of 2026-11-01"):
        restored(other, difference(base, DAY, later_document))


NOTHING = Difference(added=(), removed=())


@pytest.mark.parametrize("seed", range(30))
def test_each_time_has_the_flows_and_edges_of_its_day(seed: int) -> None:
    earlier, later_document = (document_at(random_document(number), NOON + 3 * HOUR) for number in (seed, seed + 1))
    day = (NOON + timedelta(days=9)).date()
    combined_document = of_two_days(earlier, later_document, day)
    assert decoded(encoded(combined_document)) == combined_document
    for moment, expected in ((end_of(day), earlier), (end_of(day) + timedelta(milliseconds=1), later_document)):
        changes = differences(expected, document_at(combined_document, moment))
        assert (changes.flows, changes.edges) == (NOTHING, NOTHING)
    assert combined_document.datasets[: len(later_document.datasets)] == later_document.datasets
    assert list(combined_document.times) == sorted(combined_document.times)


def test_a_mask_that_was_lost_is_one_edge_that_ended_and_one_that_began() -> None:
    def estate(*, masked: bool) -> LineageDocument:
        return document(process("clean", "raw", "clean", edge("raw.mail", "clean.mail", masked=masked)))

    combined_document = of_two_days(estate(masked=True), estate(masked=False), NOON.date())
    assert [
        (column_edge.kind, column_edge.valid_from >= 0, column_edge.valid_to >= 0)
        for column_edge in combined_document.edges
    ] == [
        ("identity", True, False),
        ("mask", False, True),
    ]
    assert combined_document.history
