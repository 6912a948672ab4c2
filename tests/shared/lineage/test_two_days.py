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
    earlier, later = (document_at(random_document(number), NOON + 3 * HOUR) for number in (seed, seed + 1))
    day = (NOON + timedelta(days=9)).date()
    both = of_two_days(earlier, later, day)
    assert decoded(encoded(both)) == both
    for moment, expected in ((end_of(day), earlier), (end_of(day) + timedelta(milliseconds=1), later)):
        found = differences(expected, document_at(both, moment))
        assert (found.flows, found.edges) == (NOTHING, NOTHING)
    assert both.datasets[: len(later.datasets)] == later.datasets
    assert list(both.times) == sorted(both.times)


def test_a_mask_that_was_lost_is_one_edge_that_ended_and_one_that_began() -> None:
    def estate(*, masked: bool) -> LineageDocument:
        return document(process("clean", "raw", "clean", edge("raw.mail", "clean.mail", masked=masked)))

    both = of_two_days(estate(masked=True), estate(masked=False), NOON.date())
    assert [(one.kind, one.valid_from >= 0, one.valid_to >= 0) for one in both.edges] == [
        ("identity", True, False),
        ("mask", False, True),
    ]
    assert both.history
