"""Lineage that other programs wrote to the catalog, read by one contract from memory, the local catalog and Atlas."""

import json
import time
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from pyapacheatlas.auth import BasicAuthentication

from shared.atlas.entities import ProcessEntity
from shared.catalog.atlas.catalog import AtlasCatalog
from shared.catalog.connection.transport import StaticToken, SteadyAtlasClient
from shared.catalog.port import Catalog, ForeignAsset, ForeignProcess, ProcessLinks
from tests.plugins.atlas import V2
from tests.shared.catalog.test_contract import Counting, asset, over, pairs, process, soon
from tests.support.foreign import WORKSPACE, plant_reports
from tests.support.memory_catalog import MemoryCatalog

pytestmark = pytest.mark.contract

COPY = "adf://factory/pipelines/copy"


@pytest.fixture
def began() -> datetime:
    """The time after the catalog was emptied: with soft deletes what is deleted counts as changed."""
    time.sleep(0.01)
    return datetime.now(UTC)


@pytest.fixture
def catalog(served: V2 | None) -> Catalog:
    if served is None:
        return MemoryCatalog()
    served.empty()
    return over(served)


def foreign(inputs: Iterable[str], outputs: Iterable[str], name: str = COPY, mapping: str = "[]") -> ProcessEntity:
    """A process of another program."""
    return replace(process(inputs, outputs, mapping), qualified_name=name)


def changed(catalog: Catalog, since: datetime) -> frozenset[str]:
    return catalog.changed_processes(since) or frozenset()


def end(name: str) -> ForeignAsset:
    return ForeignAsset(type="fs_path", qualified_name=f"file:///data/{name}", name=name)


def test_processes_around_a_data_set_are_read_from_both_sides(catalog: Catalog) -> None:
    guids = catalog.create_assets([asset(name) for name in "abc"])
    written_processes = catalog.write_processes([process("a", "b"), foreign("b", "c")], guids)
    own_guids, foreign_guids = (
        frozenset({written_processes["throughline:test/b"]}),
        frozenset({written_processes[COPY]}),
    )
    a, b, c = guids
    nowhere = [("fs_path", "file:///data/nowhere"), ("no_such_type", "file:///data/a")]
    assert catalog.process_links([*guids, *nowhere]) == {
        a: ProcessLinks(readers=own_guids),
        b: ProcessLinks(readers=foreign_guids, writers=own_guids),
        c: ProcessLinks(writers=foreign_guids),
    }
    assert catalog.process_links([]) == {}


def test_a_foreign_process_is_read_with_names_types_and_columns_and_ours_is_not(catalog: Catalog) -> None:
    guids = catalog.create_assets([asset(name) for name in ("a", "c", "sales by month")])
    mapping = json.dumps([pairs("a", "id>key", "amount>total")])
    foreign_process = foreign(["a", "sales by month"], "c", mapping=mapping)
    written_guids = catalog.write_processes([foreign_process, process("a", "c")], guids)
    source, sink = "file:///data/a", "file:///data/c"
    assert catalog.foreign_processes([*written_guids.values(), "00000000-0000-0000-0000-000000000000"]) == {
        written_guids[COPY]: ForeignProcess(
            type=foreign_process.type,
            qualified_name=COPY,
            name="makes c",
            inputs=(end("a"), end("sales by month")),
            outputs=(end("c"),),
            columns=(((source, "id"), (sink, "key")), ((source, "amount"), (sink, "total"))),
        )
    }
    assert catalog.foreign_processes([]) == {}


def test_a_mapping_in_another_form_is_no_mapping(catalog: Catalog) -> None:
    guids = catalog.create_assets([asset("a"), asset("c")])
    for mapping in ("", "no JSON", '{"a": 1}', '[{"ColumnMapping": 7}]'):
        written_guids = catalog.write_processes([foreign("a", "c", mapping=mapping)], guids)
        assert catalog.foreign_processes([written_guids[COPY]])[written_guids[COPY]].columns == ()


def test_what_a_foreign_process_no_longer_reads_is_gone(catalog: Catalog) -> None:
    guids = catalog.create_assets([asset(name) for name in "abc"])
    for inputs in ("ab", "a", "ab"):
        written_guids = catalog.write_processes([foreign(inputs, "c")], guids)
        (foreign_process,) = catalog.foreign_processes([written_guids[COPY]]).values()
        assert foreign_process.inputs == tuple(map(end, inputs))
        readers = {
            key[1][-1] for key, links in catalog.process_links(guids).items() if written_guids[COPY] in links.readers
        }
        assert readers == set(inputs)
    catalog.remove([written_guids[COPY]])
    assert catalog.foreign_processes([written_guids[COPY]]) == {}
    assert set(catalog.process_links(guids).values()) == {ProcessLinks()}


def test_changed_processes_are_those_of_others_since_a_time(catalog: Catalog, began: datetime) -> None:
    guids = catalog.create_assets([asset(name) for name in "abc"])
    written_guids = catalog.write_processes([process("a", "b"), foreign("b", "c")], guids)
    foreign_guids = frozenset({written_guids[COPY]})
    assert soon(lambda: changed(catalog, began), foreign_guids) == foreign_guids
    assert catalog.changed_processes(datetime.now(UTC) + timedelta(hours=1)) == frozenset()


def test_dashboards_and_reports_have_their_types_and_names_for_people(v2: V2, began: datetime) -> None:
    catalog = over(v2)
    guids = catalog.create_assets([asset("a")])
    plant_reports(v2.call, asset("a").key, "Sales by month", column="amount")
    (links,) = catalog.process_links(guids).values()
    (report,) = catalog.foreign_processes(links.readers).values()
    name = f"{WORKSPACE}/reports/Sales by month"
    assert (report.type, report.name) == ("powerbi_report_process", "Sales by month")
    assert report.outputs == (ForeignAsset(type="powerbi_report", qualified_name=name, name="Sales by month"),)
    assert report.columns == ((("file:///data/a", "amount"), (name, "Total")),)
    assert soon(lambda: changed(catalog, began), links.readers) == links.readers


@pytest.mark.catalogs("local")  # a real one takes minutes for so many
def test_thousands_of_neighbours_of_one_table_take_few_calls(v2: V2, began: datetime) -> None:
    client = Counting(v2.endpoint, BasicAuthentication(v2.user, v2.password))
    catalog = AtlasCatalog(client)
    guids = catalog.create_assets([asset("a")])
    for start in range(0, 3000, 500):
        plant_reports(v2.call, asset("a").key, *(f"report {number}" for number in range(start, start + 500)))
    calls_before = client.made
    (links,) = catalog.process_links(guids).values()
    assert len(catalog.foreign_processes(links.readers)) == 3000
    assert client.made - calls_before == 1 + 30
    assert catalog.changed_processes(began) == links.readers
    assert client.made - calls_before == 1 + 30 + 4, "three pages, and the empty one that shows the end"


def test_too_many_changes_are_not_listed(v2: V2, began: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = over(v2)
    guids = catalog.create_assets([asset(name) for name in "ab"])
    catalog.write_processes([foreign("a", "b", name=f"adf://{number}") for number in range(4)], guids)
    assert soon(lambda: len(catalog.changed_processes(began) or ()), 4) == 4
    monkeypatch.setattr("shared.catalog.atlas.search._LARGE_PAGE", 2)
    monkeypatch.setattr("shared.catalog.atlas.search._PAGES", 1)
    assert catalog.changed_processes(began) is None


@pytest.mark.catalogs("local-soft")
def test_purviews_search_lists_changed_processes_of_all_types(v2: V2, began: datetime) -> None:
    client = SteadyAtlasClient(f"{v2.url}/datamap/api/atlas/v2", StaticToken(v2.password))
    catalog = AtlasCatalog(client)
    guids = catalog.create_assets([asset("a"), asset("b")])
    written_guids = catalog.write_processes([process("a", "b"), foreign("a", "b")], guids)
    plant_reports(v2.call, asset("a").key, "Sales by month")
    links = catalog.process_links(guids)
    foreign_guids = (links[min(guids)].readers | links[max(guids)].writers) - {written_guids["throughline:test/b"]}
    assert len(foreign_guids) == 2
    assert catalog.changed_processes(began) == foreign_guids
    assert catalog.changed_processes(datetime.now(UTC) + timedelta(hours=1)) == frozenset()
