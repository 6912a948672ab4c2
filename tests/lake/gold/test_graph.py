"""Closures by arrays, compared with a plain search."""

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from throughline.lake.engine.arrow import schema_of
from throughline.lake.gold.column_index import Columns
from throughline.lake.gold.graph import Graph
from throughline.lake.gold.impact import Closures, spread
from throughline.lake.tables.declaration import struct
from throughline.lake.tables.schemas import IMPACT

NODES = 7
edges = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=25)


def _search(pairs: list[tuple[int, int]], start: int, deepest: int) -> dict[int, tuple[int, int]]:
    """The depth of each node that is reached, and the number of shortest paths to it."""
    distances, waiting = {start: (0, 1)}, deque([start])
    while waiting:
        here = waiting.popleft()
        depth, ways = distances[here]
        for start_node, other in pairs:
            if start_node != here or depth == deepest:
                continue
            if other not in distances:
                distances[other] = (depth + 1, 0)
                waiting.append(other)
            if distances[other][0] == depth + 1:
                distances[other] = (depth + 1, distances[other][1] + ways)
    return {node: counts for node, counts in distances.items() if node != start}


@given(pairs=edges, deepest=st.integers(1, NODES))
def test_a_closure_equals_the_result_of_a_search(pairs: list[tuple[int, int]], deepest: int) -> None:
    """With cycles and repeated edges among them."""
    starts, ends = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
    graph = Graph.of(starts, ends, NODES)
    closure_table = graph.closure(np.arange(NODES), depth=deepest)
    rows = zip(
        closure_table.source,
        closure_table.target,
        closure_table.depth,
        closure_table.paths,
        closure_table.edge,
        strict=True,
    )
    stored: dict[int, dict[int, tuple[int, int]]] = {node: {} for node in range(NODES)}
    for source, target, depth, paths, edge in rows:
        stored[source][target] = (depth, paths)
        assert graph.ends[edge] == target
    assert stored == {node: _search(pairs, node, deepest) for node in range(NODES)}


def _columns(*rows: tuple[str, str, str, str, bool, bool], opaque: Sequence[int] = ()) -> Columns:
    """Columns of these edges, of which those at the places `opaque` are opaque."""
    names = ["input", "input_column", "output", "output_column", "direct", "masked"]
    edges = pd.DataFrame(rows, columns=names).assign(process="p")
    return Columns.of(edges.assign(opaque=[place in opaque for place in range(len(rows))]))


def _downstream(known_columns: Columns, asset: str, column: str) -> list[dict[str, Any]]:
    """The rows of `impact` for one column."""
    number = known_columns.nodes.find(asset, column)
    assert number is not None
    batches = Closures.of(known_columns).rows(np.array([number], dtype=np.int64), schema_of(struct(IMPACT.content)))
    return [row for batch in batches for row in batch.to_pylist()]


def test_a_condition_of_rows_reaches_every_column() -> None:
    columns = _columns(("a", "filter", "b", "", False, False), ("b", "x", "c", "x", True, False))
    reached_columns = {
        (row["target"], row["target_column"]): (row["depth"], row["direct"])
        for row in _downstream(columns, "a", "filter")
    }
    assert reached_columns == {("b", ""): (1, False), ("b", "x"): (2, False), ("c", "x"): (3, False)}


def test_tags_end_at_masks_and_follow_values_only() -> None:
    columns = _columns(
        ("a", "mail", "b", "mail", True, False),
        ("b", "mail", "c", "hash", True, True),
        ("b", "mail", "d", "", False, False),
        ("b", "mail", "a", "mail", True, False),
    )
    seeds = pd.DataFrame([("a", "mail", "personal")], columns=["qualified_name", "column", "tag"])
    assert spread(columns, seeds) == [
        ("a", "mail", "personal", 0, "a", "mail"),
        ("b", "mail", "personal", 1, "a", "mail"),
    ]


def test_tags_end_before_opaque_edges() -> None:
    columns = _columns(("a", "mail", "b", "x", True, False), ("a", "mail", "c", "y", True, False), opaque=[0])
    seeds = pd.DataFrame([("a", "mail", "personal")], columns=["qualified_name", "column", "tag"])
    assert {asset[0] for asset in spread(columns, seeds)} == {"a", "c"}


@pytest.mark.parametrize(
    ("opaque", "expected_columns"),
    [
        ([], {"b": (True, False), "c": (True, False), "d": (False, False)}),
        ([0], {"b": (True, True), "c": (True, True), "d": (False, False)}),
        ([1], {"b": (True, False), "c": (True, True), "d": (False, False)}),
        ([0, 2], {"b": (True, True), "c": (True, True), "d": (False, False)}),
    ],
)
def test_what_code_may_pass_on_may_arrive(opaque: list[int], expected_columns: dict[str, tuple[bool, bool]]) -> None:
    columns = _columns(
        ("a", "x", "b", "x", True, False),
        ("b", "x", "c", "x", True, False),
        ("a", "x", "d", "", False, False),
        opaque=opaque,
    )
    assert {row["target"]: (row["direct"], row["opaque"]) for row in _downstream(columns, "a", "x")} == expected_columns


def test_an_exact_way_beside_code_arrives() -> None:
    arrows = (("a", "x", "c", "x", True, False), ("a", "x", "b", "x", True, False), ("b", "x", "c", "x", True, False))
    opaque_by_target = {row["target"]: row["opaque"] for row in _downstream(_columns(*arrows, opaque=[0]), "a", "x")}
    assert opaque_by_target == {"b": False, "c": False}


def test_a_tag_of_a_whole_data_set_stays_there() -> None:
    """An empty value of a CSV file is None."""
    columns = _columns(("a", "mail", "b", "mail", True, False))
    seeds = [("a", None, "personal"), ("a", "mail", "personal"), ("z", None, "personal")]
    assert spread(columns, pd.DataFrame(seeds, columns=["qualified_name", "column", "tag"])) == [
        ("a", "", "personal", 0, "a", ""),
        ("a", "mail", "personal", 0, "a", "mail"),
        ("b", "mail", "personal", 1, "a", "mail"),
        ("z", "", "personal", 0, "z", ""),
    ]
