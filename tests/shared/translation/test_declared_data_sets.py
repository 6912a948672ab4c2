"""Views, aliases and tables without a job: a data set event that says what feeds its data set is an edge."""

from itertools import permutations
from typing import Any

import pytest

from shared.model import Process
from shared.openlineage.decoding import decode
from shared.storage.memory import MemoryStorage
from shared.translation.reference import translate_history
from tests.support.building import IDENTITY, Json, packed, source
from tests.support.building import lineage as columns_of
from tests.support.memory_catalog import MemoryCatalog
from tests.support.processing import deliver_event, post
from tests.support.publishing import Clock, publish, publish_options

SERVER = "sqlserver://contoso.database.windows.net:1433"


def entry(name: str, **values: str) -> Json:
    return {"namespace": SERVER, "name": f"shop.dbo.{name}", "type": "DATASET", **values}


def view(hour: int, lineage: Any = None, name: str = "v_orders", **facets: Any) -> bytes:
    """A data set event of a view, with the facet `lineage`."""
    lineage_facet = {"lineage": {"_producer": "x", "_schemaURL": "y", **lineage}} if lineage is not None else {}
    data = {"namespace": SERVER, "name": f"shop.dbo.{name}", "facets": {**lineage_facet, **facets}}
    return packed({"eventTime": f"2026-11-01T{hour:02}:00:00Z", "producer": "x", "schemaURL": "y", "dataset": data})


def processes_of(*events: bytes) -> tuple[Process, ...]:
    return translate_history([decode(event) for event in events]).processes


def names(process: Process) -> tuple[list[str], list[str]]:
    return [asset.name for asset in process.inputs], [asset.name for asset in process.outputs]


def test_a_view_is_a_process_whose_job_is_the_view_itself() -> None:
    (process,) = processes_of(view(1, {"inputs": [entry("orders"), entry("items")]}))
    assert process.operations == ("declared",)
    assert names(process) == (["shop.dbo.items", "shop.dbo.orders"], ["shop.dbo.v_orders"])
    assert process.name == "shop.dbo.v_orders → shop.dbo.v_orders"


def test_columns_of_the_facet_are_edges() -> None:
    fields = {"total": {"inputs": [entry("orders", field="amount")]}}
    (process,) = processes_of(view(1, {"inputs": [entry("orders")], "fields": fields}))
    ((edge),) = process.columns
    assert (edge.input.column, edge.output.column) == ("amount", "total")


def test_column_lineage_alone_is_enough() -> None:
    facet = columns_of({"id": [source("/raw", "id", IDENTITY)]})
    (process,) = processes_of(view(1, columnLineage=facet))
    assert (process.operations, [asset.name for asset in process.inputs]) == (("declared",), ["/raw"])


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_newest_event_replaces_those_before_in_any_order(order: tuple[int, ...]) -> None:
    events = [view(1, {"inputs": [entry("a")]}), view(2, {"inputs": [entry("b")]}), view(3, {"inputs": [entry("c")]})]
    (process,) = processes_of(*(events[number] for number in order), events[0])
    assert names(process)[0] == ["shop.dbo.c"]


def test_a_data_set_event_without_lineage_is_skipped_and_one_on_itself_too() -> None:
    history = translate_history([decode(view(1, schema={"fields": [{"name": "id"}]}))])
    assert (history.processes, [ignored_event.reason for ignored_event in history.ignored]) == (
        (),
        ["job or data set event without a run"],
    )
    assert processes_of(view(1, {"inputs": [entry("v_orders")]})) == ()


@pytest.mark.parametrize("name", ["project", "execute_merge_into_command", "delete_from_table"])
def test_a_data_set_that_is_called_like_a_node_of_spark_is_no_operation(name: str) -> None:
    (process,) = processes_of(view(1, {"inputs": [entry("orders")]}, name=name))
    assert process.operations == ("declared",)


def test_a_view_is_published_replaced_and_withdrawn() -> None:
    """Through storage, fold and catalog: the newest declaration is what the catalog has."""
    storage, catalog, clock = MemoryStorage(), MemoryCatalog(), Clock()
    for event, inputs in (
        (view(1, {"inputs": [entry("a"), entry("b")]}), ["shop.dbo.a", "shop.dbo.b"]),
        (view(3, {"inputs": [entry("c")]}), ["shop.dbo.c"]),
        (view(2, {"inputs": [entry("a")]}), ["shop.dbo.c"]),
        (view(4, {"inputs": []}), None),
    ):
        for place in post(storage, event):
            deliver_event(storage, place)
        publish(storage, catalog, publish_options(clock))
        input_names = [[key[1].rpartition("/")[2] for key in process.inputs] for process in catalog.processes.values()]
        assert input_names == ([] if inputs is None else [[name.rpartition(".")[2] for name in inputs]])
