"""Promised assets on memory, the local catalog and a real Atlas (`--atlas`): what it shows before, after and beside a
run, and that what people added stays.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyapacheatlas.auth import BasicAuthentication

from shared.atlas.entities import AssetEntity
from shared.catalog.atlas.annotations import AtlasClassifications, AtlasTerms
from shared.catalog.connection.transport import RetryPolicy, SteadyAtlasClient
from tests.plugins.atlas import V2
from tests.shared.catalog.test_contract import over
from tests.support.cli import Parts
from tests.support.placeholder_columns import FOLDER, copy_run
from tests.throughline.products.test_registration import CONTRACT, X, Y, applied, contract, run

pytestmark = pytest.mark.contract
PROPERTIES = "customAttributes"


class On(Parts):
    """Commands on one catalog; `served`: None for the one in memory."""

    def __init__(self, served: V2 | None) -> None:
        super().__init__()
        self.served = served
        if served:
            served.empty()
            credentials = BasicAuthentication(served.user, served.password)
            client = SteadyAtlasClient(
                served.endpoint, credentials, retry_policy=RetryPolicy(tries=10 if served.real else 1)
            )
            terms = AtlasTerms(client)
            if "Glossary" not in terms.glossaries():
                terms.create_glossary("Glossary")
            self.worker = replace(
                self.worker, catalog=over(served), classifications=AtlasClassifications(client), terms=terms
            )

    def take(self, *events: bytes) -> None:
        """Publish what these events say."""
        saved, self.catalog = self.catalog, self.worker.catalog  # type: ignore[assignment]  # the port's, of any kind
        run(self, *events)
        self.catalog = saved

    def shown(self) -> dict[str, Any]:
        """Owner, description and properties of the asset."""
        if self.served is None:
            asset = self.catalog.assets[FOLDER]
            return {**dict(asset.attributes), PROPERTIES: dict(asset.properties or ())}
        entity = self.entity()
        return {**entity["attributes"], PROPERTIES: entity.get(PROPERTIES) or {}}

    def entity(self) -> dict[str, Any]:
        """As the catalog sends it."""
        assert self.served
        answer = self.served.call(f"GET entity/uniqueAttribute/type/{FOLDER[0]}?attr:qualifiedName={FOLDER[1]}")
        answer.raise_for_status()
        answered: dict[str, Any] = answer.json()["entity"]
        return answered


@pytest.fixture
def commands(served: V2 | None) -> On:
    return On(served)


def test_a_promised_asset_before_and_after_its_first_run(commands: On, tmp_path: Path) -> None:
    file = contract(tmp_path)
    applied(commands, file)
    guid = commands.worker.catalog.find([FOLDER])[FOLDER]
    assert commands.shown()[PROPERTIES] == {"promise": "PENDING", "contract": "orders 1.2.0"}
    assert commands.shown()["owner"] == "team:sales"
    applied(commands, file, "--plan")
    commands.take(copy_run("1", (X,), (X, Y)))
    assert commands.worker.catalog.find([FOLDER]) == {FOLDER: guid}, "a run lands on the same asset"
    assert commands.shown()[PROPERTIES]["promise"] == "ACTIVE"
    catalog = commands.worker.catalog
    (name,) = catalog.process_names(catalog.process_links([FOLDER])[FOLDER].writers)
    assert FOLDER in catalog.read_processes([name])[name].entity.outputs
    assert commands.worker.terms
    assert commands.worker.terms.classified([FOLDER])[FOLDER].names == {"Order@Glossary"}
    commands.take(copy_run("2", (X,), (X,), minute=5))
    assert commands.shown()[PROPERTIES]["promise"] == "DEGRADED"
    assert "DEGRADED (columns)" in commands.shown()["description"]


def test_what_people_added_stays(v2: V2, tmp_path: Path) -> None:
    commands = On(v2)
    applied(commands, contract(tmp_path, CONTRACT.replace("schema:\n", "schema:\n  - {name: returns}\n")))
    entity = commands.entity()
    body = {
        "typeName": FOLDER[0],
        "guid": entity["guid"],
        "attributes": {**entity["attributes"], "owner": "Ann"},
        PROPERTIES: {**entity[PROPERTIES], "floor": "3"},
    }
    v2.call("POST entity/bulk", {"entities": [body]}).raise_for_status()
    commands.take(copy_run("1", (X,), (X, Y)))
    assert commands.shown()[PROPERTIES] == {"promise": "ACTIVE", "contract": "orders 1.2.0", "floor": "3"}
    assert commands.shown()["owner"] == "Ann"
    applied(commands, contract(tmp_path, CONTRACT.replace("- name: orders\n", "- name: returns\n")))
    assert commands.shown()[PROPERTIES] == {"floor": "3"}, "the promise is withdrawn"
    assert "Promised" not in commands.shown()["description"]


def test_the_terms_move_to_the_asset_that_a_scan_found(commands: On, tmp_path: Path) -> None:
    """A term keeps the placeholder, as any link does, until the contract is applied again."""
    file, catalog = contract(tmp_path), commands.worker.catalog
    applied(commands, file)
    commands.take(copy_run("1", (X,), (X, Y)))
    attributes = (("name", "orders"), ("description", "Found by a scan."))
    scanned = AssetEntity(type=FOLDER[0], qualified_name=f"{FOLDER[1]}/", attributes=attributes, columns=(X, Y))
    catalog.create_assets([scanned])
    commands.run("reconcile")
    applied(commands, file, "--onto-scanned")
    assert commands.worker.terms
    assert commands.worker.terms.classified([scanned.key])[scanned.key].names == {"Order@Glossary"}
    commands.run("reconcile")
    assert list(catalog.find([FOLDER, scanned.key])) == [scanned.key], "the placeholder has gone"
