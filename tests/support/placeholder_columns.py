"""Helpers for tests of placeholders' columns."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import requests

from shared.atlas.entities import ProcessEntity
from shared.catalog.atlas.catalog import AtlasCatalog
from shared.catalog.connection.transport import RetryPolicy, StaticToken, SteadyAtlasClient
from shared.catalog.port import AssetKey
from shared.publishing.context import PublishOptions
from shared.storage.memory import MemoryStorage
from tests.support.building import IDENTITY, Json, body, dataset, lineage, packed, source
from tests.support.memory_catalog import MemoryCatalog
from tests.support.publish_world import fold, publish
from throughline.local.catalog.server import CatalogServer

Columns = tuple[tuple[str, str], ...]

SQL = "sqlserver://srv.database.windows.net:1433"

TABLE: AssetKey = ("azure_sql_table", "mssql://srv.database.windows.net/db/dbo/orders")

FOLDER: AssetKey = ("azure_datalake_gen2_path", "https://acct.dfs.core.windows.net/raw/orders")


def publish_options(**fields: Any) -> PublishOptions:
    return PublishOptions(**{"now": lambda: datetime.now(UTC) + timedelta(hours=1), **fields})


def schema(*columns: tuple[str, str]) -> Json:
    return {"fields": [{"name": name, "type": kind} for name, kind in columns]}


def copy_run(
    run: str, input_columns: Columns, output_columns: Columns, *, minute: float = 0, app: str = "load"
) -> bytes:
    """Return a run that copies column x of an SQL table to a folder."""
    columns = lineage({"x": [source("db.dbo.orders", "x", IDENTITY, namespace=SQL)]})
    return packed(
        body(
            run=run,
            application=run,
            app_name=app,
            minute=minute,
            inputs=[dataset("db.dbo.orders", SQL, schema=schema(*input_columns))],
            outputs=[
                dataset(
                    "orders",
                    "abfss://raw@acct.dfs.core.windows.net",
                    columnLineage=columns,
                    schema=schema(*output_columns),
                )
            ],
        )
    )


def deliver_all(storage: MemoryStorage, bodies: Sequence[bytes]) -> None:
    fold(storage, *bodies)


def run(storage: MemoryStorage, catalog: Any, *bodies: bytes, **more: Any) -> None:
    deliver_all(storage, bodies)
    publish(storage, catalog, publish_options(**more))


def catalog_at(server: CatalogServer) -> AtlasCatalog:
    return AtlasCatalog(
        SteadyAtlasClient(server.endpoint, StaticToken(server.token), retry_policy=RetryPolicy(tries=1))
    )


def get(server: CatalogServer, path: str, **parameters: str) -> Json:
    answer = requests.get(
        f"{server.endpoint}/{path}", params=parameters, headers={"Authorization": f"Bearer {server.token}"}, timeout=10
    )
    answer.raise_for_status()
    document: Json = answer.json()
    return document


def by_name(server: CatalogServer, key: AssetKey) -> Json:
    found: Json = get(server, f"entity/uniqueAttribute/type/{key[0]}", **{"attr:qualifiedName": key[1]})["entity"]
    return found


def active(entity: Json, name: str) -> list[str]:
    return sorted(
        reference["displayText"]
        for reference in entity["relationshipAttributes"][name]
        if (reference["relationshipStatus"], reference["entityStatus"]) == ("ACTIVE", "ACTIVE")
    )


X, Y, Z = ("x", "int"), ("y", "string"), ("z", "date")


def entity(catalog: MemoryCatalog) -> ProcessEntity:
    (process_entity,) = catalog.processes.values()
    return process_entity
