"""Classifications: one contract for memory, the local catalog and a real Atlas (`--atlas`); and that Atlas' own
propagation, which follows tables and knows no mask, leaves ours where they are.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from pyapacheatlas.auth import BasicAuthentication

from shared.atlas.columns import column_name
from shared.catalog.atlas.annotations import AtlasClassifications
from shared.catalog.connection.transport import RetryPolicy, SteadyAtlasClient
from shared.catalog.port import Catalog, Classifications
from shared.errors import CatalogRefused
from tests.plugins.atlas import V2
from tests.shared.catalog.test_contract import asset, over, placed, process
from tests.support.memory_catalog import MemoryCatalog, MemoryClassifications

pytestmark = pytest.mark.contract
PII, THEIRS = "MY.PII", "MICROSOFT.PERSONAL.EMAIL"
TABLE = ("fs_path", "file:///data/a")
COLUMN = ("column", column_name("fs_path", "file:///data/a", "mail"))


@pytest.fixture
def both(served: V2 | None) -> Iterator[tuple[Catalog, Classifications]]:
    if served is None:
        memory = MemoryCatalog()
        yield memory, MemoryClassifications(memory)
        return
    served.empty()
    _define(served)
    credentials = BasicAuthentication(served.user, served.password)
    client = SteadyAtlasClient(served.endpoint, credentials, retry_policy=RetryPolicy(tries=10 if served.real else 1))
    yield over(served), AtlasClassifications(client)


def _define(served: V2) -> None:
    groups = served.call("GET types/typedefs").json().values()
    names = {typedef["name"] for typedefs in groups for typedef in typedefs}
    definitions = [{"name": name, "superTypes": [], "attributeDefs": []} for name in (PII, THEIRS) if name not in names]
    if definitions:
        served.call("POST types/typedefs", {"classificationDefs": definitions}).raise_for_status()


def test_a_classification_is_attached_seen_and_taken_away(both: tuple[Catalog, Classifications]) -> None:
    """On data sets and columns; names may have dots."""
    catalog, marks = both
    catalog.create_assets([replace(placed("a"), columns=(("mail", "string"),)), asset("b")])
    other = ("fs_path", "file:///data/b")
    entities = marks.classified([TABLE, COLUMN, other, ("fs_path", "file:///data/none"), ("no_such_type", "x")])
    assert {key: (entity.names, entity.placed) for key, entity in entities.items()} == {
        TABLE: (frozenset(), True),
        COLUMN: (frozenset(), False),
        other: (frozenset(), False),
    }
    marks.attach(PII, [entities[COLUMN].guid, entities[other].guid])
    marks.attach(THEIRS, [entities[COLUMN].guid])
    entities_after = marks.classified([TABLE, COLUMN, other])
    assert [entities_after[key].names for key in (TABLE, COLUMN, other)] == [frozenset(), {PII, THEIRS}, {PII}]
    marks.detach(PII, entities[COLUMN].guid)
    marks.detach(PII, entities[COLUMN].guid)
    marks.detach(PII, entities[TABLE].guid)
    assert marks.classified([COLUMN])[COLUMN].names == {THEIRS}


def test_attaching_an_attached_classification_again_is_refused(both: tuple[Catalog, Classifications]) -> None:
    catalog, marks = both
    guid = catalog.create_assets([asset("a")])[TABLE]
    marks.attach(PII, [guid])
    with pytest.raises(CatalogRefused) as error_info:
        marks.attach(PII, [guid])
    assert error_info.value.code == "ATLAS-400-00-01A"


@pytest.mark.catalogs("local", "atlas")
def test_our_classifications_do_not_propagate_and_those_of_others_do(served: V2) -> None:
    """The base relationships carry a classification from a table to the process, and to the tables that it writes."""
    served.empty()
    _define(served)
    catalog = over(served)
    marks = AtlasClassifications(SteadyAtlasClient(served.endpoint, BasicAuthentication(served.user, served.password)))
    guids = catalog.create_assets([asset("a"), asset("b"), asset("c")])
    catalog.write_processes([process(["a"], ["b"]), process(["b"], ["c"])], guids)
    ends = {key[1][-1]: guid for key, guid in guids.items()}
    marks.attach(PII, [ends["a"]])
    foreign_request = {"classification": {"typeName": THEIRS, "propagate": True}, "entityGuids": [ends["a"]]}
    served.call("POST entity/bulk/classification", foreign_request).raise_for_status()

    def names(end: str) -> dict[str, str]:
        entity = served.call(f"GET entity/guid/{ends[end]}").json()["entity"]
        return {
            classification["typeName"]: classification["entityGuid"]
            for classification in entity.get("classifications") or ()
        }

    assert names("a") == {PII: ends["a"], THEIRS: ends["a"]}
    assert names("b") == names("c") == {THEIRS: ends["a"]}, "their source entity is named"
    entities = marks.classified([("fs_path", "file:///data/b")])
    assert entities["fs_path", "file:///data/b"].names == frozenset(), "what propagates is not attached"
    refused = served.call(f"DELETE entity/guid/{ends['b']}/classification/{THEIRS}")
    assert refused.status_code >= 400
    served.call(f"DELETE entity/guid/{ends['a']}/classification/{THEIRS}").raise_for_status()
    assert names("c") == {}


@pytest.mark.catalogs("local", "atlas")
def test_detaching_what_is_not_attached_is_refused_as_atlas_does(served: V2) -> None:
    served.empty()
    _define(served)
    guid = over(served).create_assets([asset("a")])[TABLE]

    def refusal(name: str) -> tuple[int, str]:
        answer = served.call(f"DELETE entity/guid/{guid}/classification/{name}")
        return answer.status_code, str(answer.json()["errorCode"])

    assert refusal(PII) == (404, "ATLAS-404-00-003")
    foreign_request = {"classification": {"typeName": THEIRS}, "entityGuids": [guid]}
    served.call("POST entity/bulk/classification", foreign_request).raise_for_status()
    assert refusal(PII) == (400, "ATLAS-400-00-06D")
    assert refusal("NONE") == (400, "ATLAS-400-00-014")
