"""Following the document of lineage, compared with a naive walk; names; unknown columns."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from shared.lineage.building import TABLE, Interval, KnownProcess, document_of
from shared.lineage.dataset_facts import place
from shared.lineage.document import (
    FORMAT,
    Kind,
    LineageDocument,
    UnreadableDocumentError,
    decoded,
    encoded,
    kind_of,
)
from shared.lineage.graph import (
    AmbiguousNameError,
    LineageGraph,
    NoHistoryError,
    UnknownNameError,
    Way,
    find_column,
    find_dataset,
    reach,
    unknown_columns,
    unresolved_datasets,
    way_back,
)
from shared.model import AssetSchema, Column, EdgeKind, UnresolvedTable
from tests.support.lineage import HOUR, NOON, asset, edge, process

CLEAN = process(
    "clean",
    "raw",
    "clean",
    edge("raw.email", "clean.hash", "TRANSFORMATION", masked=True),
    edge("raw.name", "clean.name"),
    edge("raw.active", "clean.", "FILTER", kind=EdgeKind.INDIRECT),
    sourceless=(Column(qualified_name=asset("clean").qualified_name, column="origin"),),
    schemas=(
        AssetSchema(
            qualified_name=asset("clean").qualified_name,
            columns=(("name", "string"), ("hash", "string"), ("origin", "string"), ("score", "double")),
        ),
    ),
)
MART = process("mart", "clean", "mart", edge("clean.name", "mart.names", "AGGREGATION"))
DOCUMENT = document_of("record", [KnownProcess(process=lineage_process) for lineage_process in (CLEAN, MART)])


def named(document: LineageDocument, numbers: object) -> set[str]:
    """Columns by `table.column`."""
    return {
        f"{document.datasets[document.columns[number].dataset].name}.{document.columns[number].name}"
        for number in numbers  # type: ignore[attr-defined] # any collection of numbers
    }


def reached(start: str, way: Way, **options: object) -> set[str]:
    graph = LineageGraph(DOCUMENT, conditions=bool(options.get("conditions")))
    table, column = start.split(".")
    number = find_column(
        DOCUMENT, find_dataset(DOCUMENT, table if table != "clean" else asset("clean").qualified_name), column
    )
    return named(DOCUMENT, graph.columns([number], way, depth=options.get("depth")).distance) - {start}  # type: ignore[arg-type]


def test_a_column_is_followed_both_ways() -> None:
    assert reached("raw.name", Way.DOWNSTREAM) == {"clean.name", "mart.names"}
    assert reached("raw.name", Way.DOWNSTREAM, depth=1) == {"clean.name"}
    assert reached("mart.names", Way.UPSTREAM) == {"clean.name", "raw.name"}
    assert reached("raw.active", Way.DOWNSTREAM) == set()
    assert reached("raw.active", Way.DOWNSTREAM, conditions=True) == {"clean."}


def test_a_document_is_decoded_unchanged_and_encoded_in_one_order() -> None:
    assert decoded(encoded(DOCUMENT)) == DOCUMENT
    second_document = document_of(
        "record", [KnownProcess(process=lineage_process) for lineage_process in (MART, CLEAN)]
    )
    assert encoded(second_document) == encoded(DOCUMENT), "the order of what is read does not count"


@pytest.mark.parametrize("data", [b"{}", b"no json", encoded(DOCUMENT).replace(b'"format":2', b'"format":1')])
def test_bytes_that_are_no_document_are_refused(data: bytes) -> None:
    with pytest.raises(UnreadableDocumentError):
        decoded(data)
    assert FORMAT == 2


def test_columns_are_in_the_order_of_the_schema() -> None:
    own_dataset = find_dataset(DOCUMENT, asset("clean").qualified_name)
    assert [column.name for column in DOCUMENT.columns if column.dataset == own_dataset] == [
        "",
        "name",
        "hash",
        "origin",
        "score",
    ]


def test_a_column_without_a_source_is_unknown_and_a_constant_is_known() -> None:
    assert named(DOCUMENT, unknown_columns(DOCUMENT)) == {"clean.origin", "clean.score"}
    exact = document_of("record", [KnownProcess(process=structs.replace(CLEAN, exact=True))])
    assert unknown_columns(exact) == frozenset()
    assert {column.name for column in exact.columns if column.constant} == {"origin"}
    merged = document_of("record", [KnownProcess(process=structs.replace(CLEAN, operations=("merge",)))])
    assert unknown_columns(merged) == frozenset(), "a MERGE may leave columns as they are"
    empty_process = structs.replace(CLEAN, columns=(), operations=("merge",))
    assert named(
        document_of("record", [KnownProcess(process=empty_process)]),
        unknown_columns(document_of("record", [KnownProcess(process=empty_process)])),
    ) == {"clean.name", "clean.hash", "clean.origin", "clean.score"}


def test_the_output_of_a_process_with_an_unresolved_table_is_unresolved() -> None:
    lost_process = process("lost", "raw", "far", unresolved_tables=(UnresolvedTable(table="db.somewhere"),))
    document = document_of("record", [KnownProcess(process=lost_process)])
    assert {document.datasets[number].name for number in unresolved_datasets(document)} == {"far"}
    assert document.processes[0].unresolved_tables == ("db.somewhere",)


@pytest.mark.parametrize(
    ("kind", "steps", "masked", "expected_kind"),
    [
        ("INDIRECT", ("FILTER",), False, Kind.CONDITION),
        ("INDIRECT", ("FILTER",), True, Kind.CONDITION),
        ("DIRECT", ("IDENTITY",), False, Kind.IDENTITY),
        ("DIRECT", ("IDENTITY", "TRANSFORMATION"), False, Kind.TRANSFORMATION),
        ("DIRECT", ("AGGREGATION", "IDENTITY"), False, Kind.AGGREGATION),
        ("DIRECT", ("AGGREGATION",), True, Kind.MASK),
        ("DIRECT", (), False, Kind.TRANSFORMATION),
        ("DIRECT", ("OPAQUE",), False, Kind.OPAQUE),
        ("DIRECT", ("OPAQUE", "TRANSFORMATION"), False, Kind.OPAQUE),
        ("DIRECT", ("OPAQUE",), True, Kind.OPAQUE),
        ("INDIRECT", ("FILTER", "OPAQUE"), False, Kind.CONDITION),
    ],
)
def test_the_strongest_step_gives_an_edges_kind(
    kind: str, steps: tuple[str, ...], masked: bool, expected_kind: Kind
) -> None:
    assert kind_of(kind, steps, masked=masked) is expected_kind


@pytest.mark.parametrize(
    ("name", "expected_parts"),
    [
        ("abfss://raw@a.dfs.core.windows.net/x/y", ("abfss://raw@a.dfs.core.windows.net", "x", "y")),
        ("https://a.dfs.core.windows.net/raw/orders/2026/", ("https://a.dfs.core.windows.net", "raw", "2026")),
        ("mssql://server/db/dbo/orders", ("mssql://server", "db", "orders")),
        ("plain", ("fs_path", "", "plain")),
    ],
)
def test_a_name_is_split_into_host_container_and_last_part(name: str, expected_parts: tuple[str, str, str]) -> None:
    assert place(name, "fs_path") == expected_parts


def test_a_name_is_found_by_its_end_and_an_ambiguous_one_is_refused_with_candidates() -> None:
    assert DOCUMENT.datasets[find_dataset(DOCUMENT, "raw")].name == "raw"
    with pytest.raises(UnknownNameError):
        find_dataset(DOCUMENT, "absent")
    with pytest.raises(AmbiguousNameError, match=r"(?s)3 data sets.*lake/clean"):
        find_dataset(DOCUMENT, "lake")
    with pytest.raises(UnknownNameError):
        find_column(DOCUMENT, 0, "absent")
    assert find_column(DOCUMENT, find_dataset(DOCUMENT, "mart"), "NAMES")


def row(table: str, kind: str, since: int, until: int | None, *, masked: bool = False) -> Interval:
    return Interval(
        process="throughline:mart",
        input=asset("clean").qualified_name,
        input_column="" if kind == TABLE else table,
        output=asset("mart").qualified_name,
        output_column="" if kind == TABLE else "names",
        kind=kind,
        masked=masked,
        steps=() if kind == TABLE else ("IDENTITY",),
        parsed=False,
        valid_from=NOON + since * HOUR,
        valid_to=None if until is None else NOON + until * HOUR,
    )


def test_a_graph_at_a_time_has_the_edges_valid_at_that_time() -> None:
    rows = [
        row("", TABLE, 0, None),
        row("name", "DIRECT", 0, 2),
        row("name", "DIRECT", 2, None, masked=True),
        row("nick", "DIRECT", 1, 2),
    ]
    document = document_of("lake", [KnownProcess(process=MART)], history=rows)
    assert document.times == tuple(NOON + hour * HOUR for hour in (0, 1, 2))

    def at(moment: datetime | None) -> set[tuple[str, bool]]:
        graph = LineageGraph(document, moment=moment)
        edges = (document.edges[number] for number in graph.edges)
        return {(document.columns[column_edge.input].name, column_edge.masked) for column_edge in edges}

    assert at(NOON - HOUR) == set()
    assert at(NOON) == {("name", False)}
    assert at(NOON + HOUR) == {("name", False), ("nick", False)}
    assert at(NOON + 2 * HOUR) == at(None) == {("name", True)}
    with pytest.raises(NoHistoryError, match="--lake"):
        LineageGraph(DOCUMENT, moment=NOON)


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=25),
    st.integers(0, 6),
    st.one_of(st.none(), st.integers(1, 4)),
)
def test_closures_are_those_of_a_naive_walk(pairs: list[tuple[int, int]], start: int, depth: int | None) -> None:
    edges = [edge(f"t{source_number}.c", f"t{other}.c") for source_number, other in pairs]
    steps = [
        process(
            f"p{number}", column_edge.input.qualified_name[-2:], column_edge.output.qualified_name[-2:], column_edge
        )
        for number, column_edge in enumerate(edges)
    ]
    lone_process = process("alone", f"t{start}", f"t{start}", edge(f"t{start}.c", f"t{start}.c"))
    document = document_of("record", [KnownProcess(process=step) for step in (*steps, lone_process)])
    number = find_column(document, find_dataset(document, f"t{start}"), "c")
    graph = LineageGraph(document)
    for way, arrows in ((Way.DOWNSTREAM, pairs), (Way.UPSTREAM, [(b, a) for a, b in pairs])):
        expected_distances, frontier, step_count = {start: 0}, {start}, 0
        while frontier and (depth is None or step_count < depth):
            step_count += 1
            frontier = {b for a, b in arrows if a in frontier} - expected_distances.keys()
            expected_distances |= dict.fromkeys(frontier, step_count)
        distance = graph.columns([number], way, depth=depth).distance
        assert {document.datasets[document.columns[number].dataset].name: far for number, far in distance.items()} == {
            f"t{number}": far for number, far in expected_distances.items()
        }


LINKS = {"ab": ("a", "b"), "bc": ("b", "c"), "ac": ("a", "c"), "cd": ("c", "d"), "da": ("d", "a"), "xy": ("x", "y")}


def test_the_nearest_nodes_are_reached_first_by_a_link_of_a_shortest_path() -> None:
    entered = reach(["a"], lambda node: ((link, target) for link, (source, target) in LINKS.items() if source == node))
    assert entered == {"a": None, "b": "ab", "c": "ac", "d": "cd"}
    assert list(entered) == ["a", "b", "c", "d"]
    assert list(way_back(entered, "d", lambda link: LINKS[link][0])) == ["cd", "ac"]
    assert list(way_back(entered, "a", lambda link: LINKS[link][0])) == []
    assert list(way_back(entered, "y", lambda link: LINKS[link][0])) == []
