"""The documentation of data sets in a catalog, read in bulk from the local catalog; with `--atlas` from a real one."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from pyapacheatlas.auth import BasicAuthentication

from shared.atlas.columns import SCHEMA_TYPE, column_entities, schema_name
from shared.atlas.entities import PLACED, AssetEntity
from shared.catalog.atlas.annotations import AtlasDocumentation, documentation_of
from shared.catalog.atlas.catalog import AtlasCatalog
from shared.catalog.connection.transport import RateLimiter, RetryPolicy, SteadyAtlasClient
from shared.catalog.port import AssetKey
from shared.completeness import CatalogDocumentation
from tests.plugins.atlas import V2

pytestmark = pytest.mark.contract


class _Observed(SteadyAtlasClient):
    """Counts its reads, and calls `before_columns` before each read of entities without their relationships."""

    reads = 0
    before_columns: Callable[[], object] | None = None

    def call(self, *arguments: Any, **named: Any) -> Any:
        self.reads += 1
        return super().call(*arguments, **named)

    def get_entity(self, *arguments: Any, **named: Any) -> Any:
        self.reads += 1
        if self.before_columns and named["ignoreRelationships"]:
            self.before_columns()
        return super().get_entity(*arguments, **named)


def _client(server: V2) -> _Observed:
    retry_policy = RetryPolicy(tries=10 if server.real else 1, max_pause=2)
    return _Observed(server.endpoint, BasicAuthentication(server.user, server.password), retry_policy=retry_policy)


def _file(name: str, description: str = "", columns: tuple[str, ...] = ()) -> AssetEntity:
    place = f"file:///data/{name}"
    return AssetEntity(
        type="fs_path",
        qualified_name=place,
        attributes=(("name", name), ("description", description), ("path", place)),
        columns=tuple((column, "string") for column in columns),
    )


def _read(server: V2, *keys: AssetKey) -> dict[str, CatalogDocumentation]:
    catalog_documentations = dict(AtlasDocumentation(_client(server)).documentation(keys))
    return {
        key[1].rpartition("/")[2]: catalog_documentation
        for key, catalog_documentation in catalog_documentations.items()
    }


def _write(server: V2, *entities: Mapping[str, Any]) -> None:
    server.call("POST entity/bulk", {"entities": list(entities)}).raise_for_status()


def test_descriptions_owners_and_labels_by_people_are_read(v2: V2) -> None:
    server = v2
    files = [
        _file("bare"),
        _file("described", "All orders", ("id", "amount", "city")),
        _file("placed", f"{PLACED} Its last run failed."),
        _file("owned", columns=("id",)),
    ]
    AtlasCatalog(_client(server)).create_assets(files)
    column = column_entities("fs_path", files[1].qualified_name, files[1].columns)[1]
    described = {"name": "amount", "qualifiedName": column.qualified_name, "type": "string", "description": "In euros"}
    schema = {
        "typeName": SCHEMA_TYPE,
        "uniqueAttributes": {"qualifiedName": schema_name(files[1].qualified_name)},
    }
    owned = {"name": "owned", "qualifiedName": files[3].qualified_name, "path": files[3].qualified_name, "owner": "ann"}
    # a real Atlas takes labels with a new entity, and passes them over in an update
    labelled = {"name": "labelled", "qualifiedName": "file:///data/labelled", "path": "/data/labelled"}
    _write(
        server,
        {
            "typeName": "column",
            "guid": "-1",
            "attributes": described,
            "relationshipAttributes": {"composeSchema": schema},  # a real Atlas insists on it, in updates too
        },
        {"typeName": "fs_path", "guid": "-2", "attributes": owned},
        {"typeName": "fs_path", "guid": "-3", "attributes": labelled, "labels": ["gold"]},
    )

    documentation = _read(
        server,
        *(file.key for file in files),
        *(("fs_path", f"file:///data/{name}") for name in ("labelled", "missing")),
    )
    assert documentation == {
        "bare": CatalogDocumentation(),
        "described": CatalogDocumentation(described=True, columns=3, described_columns=1),
        "placed": CatalogDocumentation(placed=True),
        "owned": CatalogDocumentation(owned=True, columns=1),
        "labelled": CatalogDocumentation(tagged=True),
    }


@pytest.mark.catalogs("local")
def test_many_data_sets_take_few_calls(v2: V2) -> None:
    """250 data sets with three columns each: 10 calls by name, 3 for schemas, 8 for columns."""
    client = _client(v2)
    files = [_file(f"t{number:03}", columns=("a", "b", "c")) for number in range(250)]
    for start in range(0, len(files), 50):
        AtlasCatalog(client).create_assets(files[start : start + 50])
    client.reads = 0
    documentation = dict(AtlasDocumentation(client).documentation(file.key for file in files))
    assert len(documentation) == 250
    assert {catalog_documentation.columns for catalog_documentation in documentation.values()} == {3}
    assert 0 < client.reads <= 25


@pytest.mark.catalogs("local")
def test_reading_keeps_the_call_rate(v2: V2) -> None:
    """Five calls for 200 data sets with long names, at two a second: two at once, then one each half second."""
    waits: list[float] = []
    clock = 0.0

    def sleep(seconds: float) -> None:
        nonlocal clock
        waits.append(seconds)
        clock += seconds

    limiter = RateLimiter(2, clock=lambda: clock, sleep=sleep)
    client = SteadyAtlasClient(
        v2.endpoint,
        BasicAuthentication(v2.user, v2.password),
        retry_policy=RetryPolicy(tries=1, max_pause=2),
        rate_limiter=limiter,
    )
    files = [_file(f"{'long' * 25}{number:03}") for number in range(200)]
    for start in range(0, len(files), 50):
        AtlasCatalog(_client(v2)).create_assets(files[start : start + 50])
    assert len(dict(AtlasDocumentation(client).documentation(file.key for file in files))) == len(files)
    assert waits == [0.5] * 3


@pytest.mark.catalogs("local")
def test_a_column_deleted_during_the_reading_is_left_out(v2: V2) -> None:
    """A column is deleted after its data set was read, and before the column is read."""
    client = _client(v2)
    file_asset = _file("some", columns=("a", "b", "c"))
    AtlasCatalog(client).create_assets([file_asset])
    deleted_column = column_entities("fs_path", file_asset.qualified_name, file_asset.columns)[1].qualified_name
    place = "entity/uniqueAttribute/type/column?attr:qualifiedName="
    client.before_columns = lambda: v2.call(f"DELETE {place}{deleted_column.replace('#', '%23')}").raise_for_status()
    documentation = dict(AtlasDocumentation(client).documentation([file_asset.key]))
    assert documentation[file_asset.key].columns == 2


@pytest.mark.parametrize(
    ("entity", "columns", "expected_documentation"),
    [
        ({"contacts": {"Owner": [{"id": "1"}], "Expert": []}}, [], CatalogDocumentation(owned=True)),
        ({"contacts": {"Expert": [{"id": "1"}]}}, [], CatalogDocumentation()),
        ({"attributes": {"userDescription": "Orders"}}, [], CatalogDocumentation(described=True)),
        (
            {"attributes": {"description": PLACED, "userDescription": "Orders"}},
            [],
            CatalogDocumentation(described=True, placed=True),
        ),
        ({"attributes": {"description": "  "}}, [], CatalogDocumentation()),
        (
            {},
            [
                {"classifications": [{"typeName": "MICROSOFT.PERSONAL.EMAIL"}]},
                {"attributes": {"comment": "Address"}},
            ],
            CatalogDocumentation(tagged=True, columns=2, described_columns=1),
        ),
    ],
)
def test_the_documentation_of_an_entity(
    entity: dict[str, Any], columns: list[dict[str, Any]], expected_documentation: CatalogDocumentation
) -> None:
    assert documentation_of(entity, columns) == expected_documentation
