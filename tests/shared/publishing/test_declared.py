"""Owners and descriptions that events declare: on our own assets and processes, never over texts of people."""

from collections.abc import Callable
from typing import Any

import pytest

from shared.atlas.entities import LAST_RUN, PLACED, PROCESS_TYPE, AssetEntity, lasting_text, owned_by, owner_to_write
from shared.catalog.port import AssetKey, Catalog
from shared.storage.memory import MemoryStorage
from tests.support.building import Json, body, dataset, packed
from tests.support.catalog_server import post
from tests.support.memory_catalog import MemoryCatalog
from tests.support.placeholder_columns import by_name, catalog_at, run
from throughline.local.catalog.server import CatalogServer

IN: AssetKey = ("fs_path", "file:///orders")
OUT: AssetKey = ("fs_path", "file:///totals")
Attributes = Callable[[AssetKey], Json]


def _copy(number: int, *, owner: str = "", text: str = "", job_owner: str = "", job_text: str = "") -> bytes:
    """A run of one job that declares these of its output and of itself."""

    def facets(name: str, description: str) -> Json:
        declared: Json = {"ownership": {"owners": [{"name": name}]}} if name else {}
        return {**declared, **({"documentation": {"description": description}} if description else {})}

    options: dict[str, Any] = {"application": None, "run": str(number), "minute": number, "app_name": "load"}
    sink = dataset("/totals", **facets(owner, text))
    return packed(body(inputs=["/orders"], outputs=[sink], job_facets=facets(job_owner, job_text), **options))


@pytest.fixture(params=["memory", "atlas"])
def catalog(request: pytest.FixtureRequest) -> tuple[Catalog, Attributes]:
    """A catalog, and how to read the attributes of an entity."""
    if request.param == "memory":
        memory = MemoryCatalog()
        return memory, lambda key: dict(memory.assets[key].attributes)
    server: CatalogServer = request.getfixturevalue("fresh_catalog")
    return catalog_at(server), lambda key: dict(by_name(server, key)["attributes"])


def _process(catalog: Catalog) -> AssetKey:
    """The only process."""
    (process_node,) = (node for node in catalog.ours() if node.type == PROCESS_TYPE)
    return process_node.type, process_node.qualified_name


def test_a_placeholder_has_the_last_declared_owner_and_description(catalog: tuple[Catalog, Attributes]) -> None:
    storage, (written_catalog, reader) = MemoryStorage(), catalog
    run(storage, written_catalog, _copy(1, owner="team:sales", text="Totals by day."))
    assert lasting_text(reader(OUT)["description"]) == f"{PLACED} Totals by day. {owned_by('team:sales')}"
    assert reader(OUT)["owner"] == "team:sales"
    assert not reader(IN).get("owner")
    run(storage, written_catalog, _copy(2, owner="team:finance", text="Totals by month."))
    assert lasting_text(reader(OUT)["description"]) == f"{PLACED} Totals by month. {owned_by('team:finance')}"
    assert reader(OUT)["owner"] == "team:finance"
    run(storage, written_catalog, _copy(3))
    assert not reader(OUT).get("owner")
    assert lasting_text(reader(OUT)["description"]) == PLACED


def test_a_run_without_declarations_writes_the_usual_description(catalog: tuple[Catalog, Attributes]) -> None:
    storage, (written_catalog, reader) = MemoryStorage(), catalog
    run(storage, written_catalog, _copy(1))
    assert lasting_text(reader(OUT)["description"]) == PLACED
    assert not reader(OUT).get("owner")


def test_an_owner_that_people_set_stays(fresh_catalog: CatalogServer) -> None:
    storage, catalog = MemoryStorage(), catalog_at(fresh_catalog)
    run(storage, catalog, _copy(1, owner="team:sales", job_owner="team:jobs"))
    process = _process(catalog)
    for key in (OUT, process):
        entity = by_name(fresh_catalog, key)
        attributes = {**entity["attributes"], "owner": "Ann"}
        post(fresh_catalog, {"typeName": key[0], "guid": entity["guid"], "attributes": attributes}).raise_for_status()
    run(storage, catalog, _copy(2, owner="team:finance", text="New.", job_owner="team:others"))
    for key, own_owner in ((OUT, "team:finance"), (process, "team:others")):
        attributes = by_name(fresh_catalog, key)["attributes"]
        assert attributes["owner"] == "Ann"
        assert owned_by(own_owner) in attributes["description"]


def test_a_description_that_people_wrote_stays(fresh_catalog: CatalogServer) -> None:
    storage, catalog = MemoryStorage(), catalog_at(fresh_catalog)
    run(storage, catalog, _copy(1, text="Old."))
    entity = by_name(fresh_catalog, OUT)
    attributes = {**entity["attributes"], "description": "The totals, says Ann."}
    post(fresh_catalog, {"typeName": OUT[0], "guid": entity["guid"], "attributes": attributes}).raise_for_status()
    run(storage, catalog, _copy(2, owner="team:finance", text="New."))
    found = by_name(fresh_catalog, OUT)["attributes"]
    assert (found["description"], found.get("owner") or "") == ("The totals, says Ann.", "")


def test_declarations_do_not_change_a_scanned_asset() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    scanned = AssetEntity(
        type=OUT[0], qualified_name=OUT[1], attributes=(("name", "totals"), ("description", "Mine."), ("path", "/"))
    )
    catalog.create_assets([scanned])
    run(storage, catalog, _copy(1, owner="team:sales", text="Totals."))
    assert catalog.assets[OUT] == scanned
    assert catalog.processes


def test_a_process_has_the_declared_owner_and_description_of_its_job(fresh_catalog: CatalogServer) -> None:
    storage, catalog = MemoryStorage(), catalog_at(fresh_catalog)
    run(storage, catalog, _copy(1, job_owner="team:jobs", job_text="Adds up orders."))
    attributes = by_name(fresh_catalog, _process(catalog))["attributes"]
    assert attributes["owner"] == "team:jobs"
    declared, _, _ = attributes["description"].partition(LAST_RUN)
    assert declared == f"Operations: write. Adds up orders. {owned_by('team:jobs')}"


OWNERS: dict[str, tuple[tuple[str, str, str], str | None]] = {
    "there is none": (("a", "", ""), "a"),
    "ours changes": (("b", "a", f"x {owned_by('a')}"), "b"),
    "ours is not declared any more": (("", "a", f"x {owned_by('a')}"), ""),
    "people's stays": (("b", "Ann", f"x {owned_by('a')}"), None),
    "people's stays where none is declared": (("", "Ann", ""), None),
    "none is declared and there is none": (("", "", ""), None),
}


@pytest.mark.parametrize(("owners", "expected"), OWNERS.values(), ids=OWNERS)
def test_a_declared_owner_replaces_only_our_own_one(owners: tuple[str, str, str], expected: str | None) -> None:
    assert owner_to_write(*owners) == expected
