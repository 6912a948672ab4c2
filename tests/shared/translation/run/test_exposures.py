"""Exposures of dbt: which run states those of which table; the newest statement of a table replaces that one alone."""

from itertools import permutations
from typing import Any

import pytest

from shared.model import Process
from shared.openlineage.decoding import decode
from shared.redaction import redacted
from shared.translation.reference import translate_history
from shared.translation.run.exposures import place_of_exposure
from tests.support.building import Json
from tests.support.dbt_histories import event, exposure, invocation, table

Edges = set[tuple[str, str]]


def lineage(*events: bytes) -> tuple[Process, ...]:
    return translate_history(map(decode, events)).processes


def readers(*events: bytes) -> Edges:
    """Each table with an exposure that reads it."""
    return {
        (source.name.rpartition(".")[2], sink.name.removeprefix("exposures/"))
        for process in lineage(*events)
        for source in process.inputs
        for sink in process.outputs
        if sink.namespace.startswith("dbt://")
    }


BOARD, SHEET = exposure("board"), exposure("sheet")
STATED: dict[str, tuple[Json, Edges]] = {
    "a model's table that it writes": ({"outputs": [table("t", [BOARD, SHEET])]}, {("t", "board"), ("t", "sheet")}),
    "a source that it reads": (
        {"inputs": [table("s", [BOARD], is_model=False)], "outputs": [table("t")]},
        {("s", "board")},
    ),
    "another model's table that it reads: its own run says so": (
        {"inputs": [table("m", [BOARD])], "outputs": [table("t")]},
        set(),
    ),
    "two tables of one exposure": (
        {"inputs": [table("s", [BOARD], is_model=False)], "outputs": [table("t", [BOARD])]},
        {("s", "board"), ("t", "board")},
    ),
    "a table that is named twice": ({"outputs": [table("t", [BOARD]), table("t", [BOARD])]}, {("t", "board")}),
    "a project that the event does not name": ({"outputs": [table("t", [BOARD])], "project": ""}, {("t", "board")}),
    "a listener that is older than the facet": (
        {"outputs": [table("t", [BOARD])], "version": "1.40.0"},
        {("t", "board")},
    ),
}


@pytest.mark.parametrize(("fields", "expected"), STATED.values(), ids=STATED)
def test_a_run_states_the_exposures_of_its_tables(fields: dict[str, Any], expected: Edges) -> None:
    assert readers(event("COMPLETE", "t", 1, invocation="one", **fields)) == expected


@pytest.mark.parametrize("kind", ["FAIL", "ABORT", "START"])
def test_a_run_that_did_not_succeed_states_none(kind: str) -> None:
    assert readers(event(kind, "t", 1, invocation="one", outputs=[table("t", [BOARD])])) == set()


OF_PROJECT = {"orders": ["board"], "totals": ["board", "sheet"], "raw": ["board"]}
LATER_RUNS: dict[str, tuple[list[bytes], Edges]] = {
    "of one table": (
        invocation(2, {"totals": ["sheet"]}, ["totals"]),
        {("orders", "board"), ("totals", "sheet")},
    ),
    "that lists none": (invocation(2, {}, ["totals"]), {("orders", "board")}),
    "that lists none of the model alone": (
        invocation(2, {"raw": ["board"]}, ["orders"]),
        {("raw", "board"), ("totals", "board"), ("totals", "sheet")},
    ),
    "of a model that reads the table": (
        invocation(2, {}, ["report"]),
        {("raw", "board"), ("orders", "board"), ("totals", "board"), ("totals", "sheet")},
    ),
    "with one more": (
        invocation(2, {**OF_PROJECT, "orders": ["board", "sheet"]}, ["orders"]),
        {("raw", "board"), ("orders", "board"), ("orders", "sheet"), ("totals", "board"), ("totals", "sheet")},
    ),
    "by a listener that is older than the facet": (
        invocation(2, {}, ["orders", "totals"], version="1.51.0"),
        {("raw", "board"), ("orders", "board"), ("totals", "board"), ("totals", "sheet")},
    ),
    "of another project that reads the same tables": (
        invocation(2, {}, ["orders", "totals"], project="other"),
        {("raw", "board"), ("orders", "board"), ("totals", "board"), ("totals", "sheet")},
    ),
    "with a part that can't be read": (
        [
            raw.replace(b'"dbt_model": {"config": {"materialized": "table"}}', b'"dbt_exposures": {"exposures": 7}')
            for raw in invocation(2, {"raw": ["board"]}, ["orders"])
        ],
        {("raw", "board"), ("orders", "board"), ("totals", "board"), ("totals", "sheet")},
    ),
}


@pytest.mark.parametrize(("events", "expected"), LATER_RUNS.values(), ids=LATER_RUNS)
def test_a_later_statement_replaces_what_was_said_of_the_same_table(events: list[bytes], expected: Edges) -> None:
    earlier = invocation(1, OF_PROJECT, ["orders", "totals"])
    assert readers(*earlier, *events) == readers(*events, *earlier) == readers(*events, *earlier, *events) == expected


def test_statements_of_single_runs_add_up_in_every_order() -> None:
    runs = [invocation(number, OF_PROJECT, [model]) for number, model in enumerate(("orders", "totals", "report"))]
    of_one_run = lineage(*invocation(1, OF_PROJECT, ["orders", "totals", "report"]))
    for order in permutations(runs):
        processes = lineage(*(raw for events in order for raw in events))
        assert [(process.qualified_name, process.inputs, process.outputs) for process in processes] == [
            (process.qualified_name, process.inputs, process.outputs) for process in of_one_run
        ]


def test_a_process_reads_one_table_with_all_its_columns_and_writes_its_exposures() -> None:
    output = table("t", [exposure("board", "bi", url="https://bi.example.com/1?sig=abcdefghijklmnop"), SHEET])
    output["facets"] |= {
        "schema": {"fields": [{"name": "id"}]},
        "columnLineage": {"fields": {"id": {"inputFields": []}, "total": {"inputFields": []}}},
    }
    raw = event("COMPLETE", "t", 1, invocation="one", outputs=[output])
    for event_ in (decode(raw), decode(redacted(decode(raw)))):
        (process,) = translate_history([event_]).processes
        assert (process.name, process.operations) == ("shop.main.t → exposures", ("declared",))
        assert [(asset.namespace, asset.name) for asset in process.outputs] == [
            ("dbt://bi", "exposures/board"),
            ("dbt://shop", "exposures/sheet"),
        ]
        assert {(edge.input.column, edge.output.column) for edge in process.columns} == {("id", ""), ("total", "")}
        tags = {tag[:2] for schema in process.schemas for tag in schema.declared.tags}
        assert ("type", "dashboard") in tags
        assert "abcdefghijklmnop" not in repr(process)


@pytest.mark.parametrize(
    ("unique_id", "place"),
    [
        ("exposure.shop.board", ("dbt://shop", "exposures/board")),
        ("exposure.shop.weekly.board", ("dbt://shop", "exposures/weekly.board")),
    ],
)
def test_where_an_exposure_is(unique_id: str, place: tuple[str, str]) -> None:
    assert place_of_exposure(unique_id) == place
