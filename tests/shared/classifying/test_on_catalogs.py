"""Rules from plan to catalog, on memory, the local catalog and a real Atlas (`--atlas`), whose own propagation is on:
the same classifications and terms on each, and classifications by others propagate and stay.
"""

from dataclasses import dataclass, replace
from datetime import date

import pytest
from pyapacheatlas.auth import BasicAuthentication

from shared.atlas.columns import column_name
from shared.catalog.atlas.annotations import AtlasClassifications, AtlasTerms
from shared.catalog.connection.account import AtlasTypes
from shared.catalog.connection.transport import RetryPolicy, SteadyAtlasClient
from shared.catalog.port import AssetKey, Catalog, Classifications, Terms, Types
from shared.classifying.attached import attached
from shared.classifying.planning import (
    ClassificationPlan,
    apply,
    create_terms,
    define,
    definitions,
    lacking_terms,
    plan,
)
from shared.governance.rules_file import parse_rules
from shared.lineage.document import LineageDocument
from shared.storage.memory import MemoryStorage
from tests.plugins.atlas import V2
from tests.shared.catalog.test_contract import asset as scanned
from tests.shared.catalog.test_contract import over, placed, process
from tests.shared.classifying.test_planning import CHAIN, COLUMNS, HASHED, PII, edges_between, lineage
from tests.support.memory_catalog import MemoryCatalog, MemoryClassifications, MemoryTerms

pytestmark = pytest.mark.contract
THEIRS = "MICROSOFT.PERSONAL.EMAIL"
TERMS = '\n[[term]]\nname = "Customer@Rules"\ndatasets = ["a", "b", "c"]\n'
CERTIFIED = '\n[[certified]]\ndatasets = "b"\n'
BESIDE = lineage(
    edges_between("a", "b", ("mail", "mail", "")),
    edges_between("b", "c", ("mail", "mail", "sha2(mail, ?)")),
    edges_between("a", "c", ("mail", "mail", "max(mail)")),
)


@dataclass(frozen=True, kw_only=True)
class Ports:
    """One catalog. `types` and `served`: none for the one in memory."""

    catalog: Catalog
    marks: Classifications
    terms: Terms
    storage: MemoryStorage
    types: Types | None = None
    served: V2 | None = None

    def apply(self, rules: str, document: LineageDocument) -> ClassificationPlan:
        """As the command does."""
        parsed = parse_rules(rules, "rules.toml")
        create_terms(self.terms, lacking_terms(self.terms, parsed))
        if self.types:
            define(self.types, definitions(parsed))
        classification_plan = plan(
            document,
            parsed,
            self.marks,
            attached(self.storage),
            terms=self.terms,
            today=date(2026, 11, 23),
            onto_scanned=True,
        )
        apply(classification_plan, self.marks, self.storage, terms=self.terms)
        return classification_plan

    def attached(self) -> dict[str, set[str]]:
        """The classifications and terms attached to the three data sets and their columns, by name."""
        keys: dict[AssetKey, str] = {}
        for name in "abc":
            place = f"file:///data/{name}"
            keys["fs_path", place] = name
            keys |= {("column", column_name("fs_path", place, column)): f"{name}.{column}" for column, _ in COLUMNS}
        marks, terms = self.marks.classified(keys), self.terms.classified(keys)
        names_by_asset = {name: {*marks[key].names, *terms[key].names} for key, name in keys.items()}
        return {name: names for name, names in names_by_asset.items() if names}


@pytest.fixture
def ports(served: V2 | None) -> Ports:
    """Three data sets with columns, of which a scan found `c`, and the processes between them."""
    if served is None:
        memory = MemoryCatalog()
        catalog_ports = Ports(
            catalog=memory, marks=MemoryClassifications(memory), terms=MemoryTerms(memory), storage=MemoryStorage()
        )
        catalog_ports.terms.create_glossary("Rules")
    else:
        served.empty()
        credentials = BasicAuthentication(served.user, served.password)
        client = SteadyAtlasClient(
            served.endpoint, credentials, retry_policy=RetryPolicy(tries=10 if served.real else 1)
        )
        catalog_ports = Ports(
            catalog=over(served),
            marks=AtlasClassifications(client),
            terms=AtlasTerms(client),
            storage=MemoryStorage(),
            types=AtlasTypes(client),
            served=served,
        )
        if "Rules" not in catalog_ports.terms.glossaries():
            catalog_ports.terms.create_glossary("Rules")
        define(AtlasTypes(client), [(THEIRS, "of others")])
    guids = catalog_ports.catalog.create_assets(
        [*(replace(placed(name), columns=COLUMNS) for name in "ab"), replace(scanned("c"), columns=COLUMNS)]
    )
    catalog_ports.catalog.write_processes([process(["a"], ["b"]), process(["b"], ["c"]), process(["a"], ["c"])], guids)
    return catalog_ports


def test_every_catalog_gets_the_same_marks_and_only_ours_are_removed(ports: Ports) -> None:
    """A mask stops a classification, a plain path beside it does not; removing a rule removes our marks only."""
    entities = ports.marks.classified([("fs_path", "file:///data/a")])
    foreign_guid = entities["fs_path", "file:///data/a"].guid
    if ports.served:
        body = {"classification": {"typeName": THEIRS, "propagate": True}, "entityGuids": [foreign_guid]}
        ports.served.call("POST entity/bulk/classification", body).raise_for_status()
    else:
        ports.marks.attach(THEIRS, [foreign_guid])
    ports.apply(PII + HASHED + TERMS + CERTIFIED, CHAIN)
    masked = {
        "a": {THEIRS, "Customer@Rules"},
        "a.mail": {"PII"},
        "b": {"Certified", "Customer@Rules"},
        "b.mail": {"PII"},
        "c": {"Customer@Rules"},
    }
    assert ports.attached() == masked
    if ports.served:
        reached = ports.served.call("GET entity/uniqueAttribute/type/fs_path?attr:qualifiedName=file:///data/c").json()
        names = [classification["typeName"] for classification in reached["entity"].get("classifications") or ()]
        assert names == [THEIRS], "theirs propagates along the processes, ours does not"
    assert not ports.apply(PII + HASHED + TERMS + CERTIFIED, CHAIN).has_changes
    ports.apply(PII + HASHED + TERMS + CERTIFIED, BESIDE)
    assert ports.attached() == {**masked, "c.mail": {"PII"}}, "an aggregation leaks"
    ports.apply("", BESIDE)
    assert ports.attached() == {"a": {THEIRS}}
    assert attached(ports.storage) == {}
