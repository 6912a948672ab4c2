"""The column pairs that events name, and those that the lineage lacks."""

from collections.abc import Callable
from typing import Any

import pytest

from shared.openlineage.decoding import Event
from shared.translation.reference import ColumnPair, missing_pairs, named_pairs, translate_history
from tests.support.building import IDENTITY, dataset, decoded, lineage, source, step

FILTER = step("INDIRECT", "FILTER")
Fields = dict[str, list[dict[str, Any]]]


def run(fields: Fields, *, rows: list[dict[str, Any]] | None = None, sink: str = "/out") -> Event:
    """A run that reads `/in` and writes with this column lineage."""
    return decoded(inputs=["/in"], outputs=[dataset(sink, columnLineage=lineage(fields, rows))])


NAMED: dict[str, tuple[Event, set[str]]] = {
    "values": (
        run({"x": [source("/in", "a", IDENTITY), source("/in", "b", IDENTITY)]}),
        {"file:///in.a → file:///out.x", "file:///in.b → file:///out.x"},
    ),
    "conditions, copied into each column": (
        run({"x": [source("/in", "f", FILTER)], "y": [source("/in", "f", FILTER)]}),
        {"file:///in.f → file:///out.x", "file:///in.f → file:///out.y"},
    ),
    "conditions of all rows": (run({}, rows=[source("/in", "f", FILTER)]), {"file:///in.f → file:///out.*"}),
    "of the table itself": (run({"x": [source("/out", "x", IDENTITY)]}), set()),
    "of a log": (run({"x": [source("/t/_delta_log", "x", IDENTITY)]}), set()),
    "a file of a folder": (run({"x": [source("/in/a.csv", "x", IDENTITY)]}), {"file:///in.x → file:///out.x"}),
}


@pytest.mark.parametrize(("event", "pairs"), NAMED.values(), ids=NAMED)
def test_events_name_pairs_and_the_lineage_has_them(event: Event, pairs: set[str]) -> None:
    named = named_pairs([event])
    assert set(map(str, named)) == pairs
    assert missing_pairs(named, translate_history([event]).processes) == ()


CHANGES: dict[str, Callable[[ColumnPair], ColumnPair]] = {
    "another source": lambda pair: ColumnPair(
        source="file:///other", input=pair.input, target=pair.target, output=pair.output
    ),
    "another column": lambda pair: ColumnPair(source=pair.source, input="b", target=pair.target, output=pair.output),
    "another target": lambda pair: ColumnPair(source=pair.source, input=pair.input, target="file:///b", output="x"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_pair_that_no_process_has_is_missing(change: Callable[[ColumnPair], ColumnPair]) -> None:
    event = run({"x": [source("/in", "a", IDENTITY)]})
    (pair,) = named_pairs([event])
    other_pair = change(pair)
    assert missing_pairs([pair, other_pair], translate_history([event]).processes) == (other_pair,)


def test_case_makes_no_difference() -> None:
    event = run({"X": [source("/in", "A", IDENTITY)]})
    pair = ColumnPair(source="file:///in", input="a", target="file:///out", output="x")
    assert missing_pairs([pair], translate_history([event]).processes) == ()
