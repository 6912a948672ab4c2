"""Column edges, from every version of the facet."""

from collections.abc import Iterable
from typing import Any

import pytest
from msgspec.structs import replace

from shared.model import EdgeKind
from shared.openlineage.merging import merge
from shared.translation.process.union import ALL_ROWS, union_edges
from shared.translation.run.translate import Skip, Wait, translate
from tests.support.building import IDENTITY, Json, dataset, decoded, edge, lineage, merged, source, step

Edge = tuple[str, str, str, bool]
"""`source.column`, output column, kind, masked."""

DIRECT, INDIRECT = "DIRECT", "INDIRECT"
JOIN, FILTER, GROUP, SORT = (step(INDIRECT, kind) for kind in ("JOIN", "FILTER", "GROUP_BY", "SORT"))
WINDOW, CONDITION = step(INDIRECT, "WINDOW"), step(INDIRECT, "CONDITIONAL")
SUM = step(DIRECT, "AGGREGATION")
HASH = step(DIRECT, "TRANSFORMATION", masking=True)


def _edges(facet: Json, inputs: Iterable[str] = ("/a", "/b")) -> set[Edge]:
    result = translate(merged(inputs=inputs, outputs=[dataset("/out", columnLineage=facet)]))
    assert not isinstance(result, Skip | Wait)
    return {
        (
            f"{column.input.qualified_name.removeprefix('file:///')}.{column.input.column}",
            column.output.column,
            column.kind,
            column.masked,
        )
        for column in result.processes[0].columns
    }


def _masked(*sources: Json, kind: str = "MASKED") -> Json:
    """A field as 1-0-1 has it: one transformation for all of its sources."""
    return {"inputFields": list(sources), "transformationDescription": "", "transformationType": kind}


@pytest.mark.parametrize(
    ("facet", "expressions"),
    [
        (lineage({"x": [source("/a", "x", {**SUM, "description": "sum(x)"})]}), ("sum(x)",)),
        (lineage({"x": [source("/a", "x", {**SUM, "description": "sum(x) * 7 -- pay"})]}), ("sum(x) * ?",)),
        (lineage({"x": [source("/a", "x", {**SUM, "description": "concat(x, 'Smith')"})]}), ("concat(x, ?)",)),
        (lineage({"x": [source("/a", "x", {**SUM, "description": "unclosed 'Smith"})]}), ()),
        (lineage({"x": [source("/a", "x", {**SUM, "description": None})]}), ()),
        (lineage({"x": [source("/a", "x", {**SUM, "description": "a" * 9_999})]}), ("a" * 499 + "…",)),
        (lineage({"x": [source("/a", "x", {**JOIN, "description": "x = 7"})]}), ()),
        (
            {"fields": {"x": {"inputFields": [source("/a", "x")], "transformationDescription": "upper(x)"}}},
            ("upper(x)",),
        ),
    ],
)
def test_descriptions_are_expressions_without_literals(facet: Json, expressions: tuple[str, ...]) -> None:
    result = translate(merged(inputs=["/a"], outputs=[dataset("/out", columnLineage=facet)]))
    assert not isinstance(result, Skip | Wait)
    (column_edge,) = result.processes[0].columns
    assert column_edge.expressions == expressions


def test_all_expressions_of_one_column_edge_are_kept() -> None:
    ways = [replace(edge("/a", "/out"), expressions=(text,)) for text in ("upper(x)", "lower(x)", "trim(x)")]
    (united_edge,) = union_edges(ways)
    assert united_edge.expressions == ("lower(x)", "trim(x)", "upper(x)")
    assert union_edges([*union_edges(ways[:2]), ways[2]]) == (united_edge,)


FACETS: dict[str, tuple[Json, set[Edge]]] = {
    "1-0-0: input fields alone": (
        lineage({"x": [source("/a", "x"), source("/b", "y")]}),
        {("a.x", "x", DIRECT, False), ("b.y", "x", DIRECT, False)},
    ),
    "1-0-1: a masked field": (
        {"fields": {"x": _masked(source("/a", "x")), "y": _masked(source("/a", "x"), kind="IDENTITY")}},
        {("a.x", "x", DIRECT, True), ("a.x", "y", DIRECT, False)},
    ),
    "1-0-1: Airflow's empty type": (
        {"fields": {"x": _masked(source("/a", "x"), kind="")}},
        {("a.x", "x", DIRECT, False)},
    ),
    "1-1-0: transformations": (
        lineage({"x": [source("/a", "x", HASH), source("/b", "x", IDENTITY)]}),
        {("a.x", "x", DIRECT, True), ("b.x", "x", DIRECT, False)},
    ),
    "1-1-0: no transformations though there is a list (dbt)": (
        {"fields": {"x": {"inputFields": [{**source("/a", "x"), "transformations": []}]}}},
        {("a.x", "x", DIRECT, False)},
    ),
    "1-1-0: both kinds for one pair": (
        lineage({"x": [source("/a", "x", IDENTITY, CONDITION)]}),
        {("a.x", "x", DIRECT, False), ("a.x", "x", INDIRECT, False)},
    ),
    "1-1-0: what concerns one column stays with it": (
        lineage({"position": [source("/a", "day", WINDOW)], "size": [source("/a", "amount", CONDITION)]}),
        {("a.day", "position", INDIRECT, False), ("a.amount", "size", INDIRECT, False)},
    ),
    "1-1-0: one mask and one plain path": (
        lineage({"x": [source("/a", "x", HASH, IDENTITY)]}),
        {("a.x", "x", DIRECT, False)},
    ),
    "1-1-0: two masks": (lineage({"x": [source("/a", "x", HASH, HASH)]}), {("a.x", "x", DIRECT, True)}),
    "1-1-0: a mask that is used plainly elsewhere": (
        lineage({"x": [source("/a", "x", HASH), source("/a", "x", IDENTITY)]}),
        {("a.x", "x", DIRECT, False)},
    ),
    "1-1-0: types in lower case": (
        lineage({"x": [source("/a", "x", step("indirect", "join"))]}),
        {("a.x", ALL_ROWS, INDIRECT, False)},
    ),
    "before 1-2-0: what decides about rows, copied into every column": (
        lineage(
            {
                "x": [source("/a", "x", IDENTITY), source("/a", "id", JOIN), source("/b", "id", JOIN)],
                "y": [source("/b", "y", IDENTITY), source("/a", "id", JOIN), source("/b", "id", JOIN)],
            }
        ),
        {
            ("a.x", "x", DIRECT, False),
            ("b.y", "y", DIRECT, False),
            ("a.id", ALL_ROWS, INDIRECT, False),
            ("b.id", ALL_ROWS, INDIRECT, False),
        },
    ),
    "1-1-0: what decides about the rows of a single column": (
        lineage({"x": [source("/a", "x", IDENTITY, FILTER), source("/a", "y", GROUP, SORT)]}),
        {("a.x", "x", DIRECT, False), ("a.x", ALL_ROWS, INDIRECT, False), ("a.y", ALL_ROWS, INDIRECT, False)},
    ),
    "1-1-0: what decides about rows, though only one column of several says so": (
        lineage(
            {"total": [source("/a", "amount", SUM), source("/a", "day", GROUP)], "day": [source("/a", "day", IDENTITY)]}
        ),
        {
            ("a.amount", "total", DIRECT, False),
            ("a.day", ALL_ROWS, INDIRECT, False),
            ("a.day", "day", DIRECT, False),
        },
    ),
    "before 1-2-0: a column that decides about rows and about one column": (
        lineage(
            {
                "x": [source("/a", "day", WINDOW, FILTER)],
                "y": [source("/a", "y", IDENTITY), source("/a", "day", FILTER)],
            }
        ),
        {("a.day", "x", INDIRECT, False), ("a.day", ALL_ROWS, INDIRECT, False), ("a.y", "y", DIRECT, False)},
    ),
    "1-2-0: what every row depends on": (
        lineage({"x": [source("/a", "x", IDENTITY)]}, [source("/a", "id", JOIN), source("/b", "id", JOIN)]),
        {
            ("a.x", "x", DIRECT, False),
            ("a.id", ALL_ROWS, INDIRECT, False),
            ("b.id", ALL_ROWS, INDIRECT, False),
        },
    ),
    "1-2-0: DIRECT types there are no values": (
        lineage({"x": [source("/a", "x", IDENTITY)]}, [source("/a", "x", IDENTITY), source("/b", "id", IDENTITY)]),
        {("a.x", "x", DIRECT, False), ("a.x", ALL_ROWS, INDIRECT, False), ("b.id", ALL_ROWS, INDIRECT, False)},
    ),
    "1-2-0: rows without transformations": (
        lineage({}, [source("/a", "id")]),
        {("a.id", ALL_ROWS, INDIRECT, False)},
    ),
    "1-2-0: rows by a masked column": (
        lineage({}, [source("/a", "id", step(INDIRECT, "JOIN", masking=True))]),
        {("a.id", ALL_ROWS, INDIRECT, True)},
    ),
    "nothing": ({"fields": {}}, set()),
    "nulls": ({"fields": {"x": {"inputFields": None}}, "dataset": None}, set()),
    "the target's own columns": (lineage({"x": [source("/out", "x", IDENTITY)]}), {("out.x", "x", DIRECT, False)}),
    "a writer's own bookkeeping": (lineage({"x": [source("/out/_delta_log/0.json", "x", IDENTITY)]}), set()),
}


@pytest.mark.parametrize(("facet", "edges"), FACETS.values(), ids=FACETS)
def test_every_version_of_the_facet_gives_its_edges(facet: Json, edges: set[Edge]) -> None:
    assert _edges(facet) == edges


def test_an_old_and_a_new_listener_give_the_same_columns() -> None:
    old = lineage({name: [source("/a", name, IDENTITY), source("/b", "id", JOIN)] for name in ("x", "y", "z")})
    new = lineage({name: [source("/a", name, IDENTITY)] for name in ("x", "y", "z")}, [source("/b", "id", JOIN)])
    assert _edges(old) == _edges(new)


def test_edges_have_one_order_and_no_doubles() -> None:
    edges = [edge("/b", "/out"), edge("/a", "/out", masked=True), edge("/a", "/out"), edge("/b", "/out")]
    assert union_edges(edges) == union_edges(reversed(edges)) == (edge("/a", "/out"), edge("/b", "/out"))


def test_a_pair_is_masked_only_if_all_of_its_paths_are() -> None:
    masked, plain = edge("/a", "/out", masked=True), edge("/a", "/out")
    other_kind = edge("/a", "/out", kind=EdgeKind.INDIRECT)
    assert union_edges([masked, masked]) == (masked,)
    assert union_edges([masked, plain]) == (plain,)
    assert union_edges([masked, other_kind]) == (masked, other_kind)


def test_a_mask_of_one_event_does_not_hide_the_plain_path_of_another() -> None:
    facets = [lineage({"x": [source("/a", "x", transformation)]}) for transformation in (HASH, IDENTITY)]
    events: list[Any] = [
        decoded(kind, minute=minute, outputs=[dataset("/out", columnLineage=facet)])
        for minute, (kind, facet) in enumerate(zip(("START", "COMPLETE"), facets, strict=True))
    ]
    result = translate(merge(events))
    assert not isinstance(result, Skip | Wait)
    assert [column.masked for column in result.processes[0].columns] == [False]
