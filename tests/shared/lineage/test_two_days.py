"""One document of two: at each of both times it has the lineage of that day."""

from datetime import timedelta

import pytest

from shared.lineage.days import end_of, of_two_days
from shared.lineage.document import LineageDocument, decoded, encoded
from shared.lineage.graph import document_at
from shared.lineage.questions import Difference, differences
from tests.support.lineage import HOUR, NOON, document, edge, process, random_document

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
