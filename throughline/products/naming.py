"""The data set of a contract's table, as the events of a job that writes it will name it.

The forms of namespaces and names are OpenLineage's (https://openlineage.io/docs/spec/naming), by the standard's types
of servers. Nothing is guessed: a table without a certain place is a mistake, and the message says what to add.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from shared.model import Asset
from shared.naming.names import Names, canonical, is_noise
from shared.naming.stores.families import NO_ENVIRONMENT
from shared.openlineage.run import MergedDataset
from shared.secrets import text_without_secrets
from shared.translation.run.datasets import Place
from throughline.contracts.reading import Contract, DataServer, PromisedTable
from throughline.contracts.standard_file import DATASET
from throughline.locations import dataset_at

_FORMS: Mapping[str, tuple[str, str]] = {
    "bigquery": ("bigquery", "{project}.{dataset}."),
    "clickhouse": ("clickhouse://{host}:{port}", "{database}."),
    "databricks": ("databricks://{host}", "{catalog}.{schema}."),
    "hive": ("hive://{host}:{port}", "{database}."),
    "kafka": ("kafka://{host}", ""),
    "mysql": ("mysql://{host}:{port}", "{database}."),
    "oracle": ("oracle://{host}:{port}", "{serviceName}.{schema}."),
    "postgres": ("postgres://{host}:{port}", "{database}.{schema}."),
    "redshift": ("redshift://{host}:{port}", "{database}.{schema}."),
    "snowflake": ("snowflake://{account}", "{database}.{schema}."),
    "sqlserver": ("sqlserver://{host}:{port}", "{database}.{schema}."),
    "trino": ("trino://{host}:{port}", "{catalog}.{schema}."),
}
"""Namespace, and what comes before a table's name, by the type of the server."""
_SAME: Mapping[str, str] = {"postgresql": "postgres", "synapse": "sqlserver"}
_DEFAULTS: Mapping[str, Mapping[str, str]] = {
    "clickhouse": {"port": "8123"},
    "hive": {"port": "9083", "database": "default"},
    "mysql": {"port": "3306"},
    "oracle": {"port": "1521"},
    "postgres": {"port": "5432", "schema": "public"},
    "redshift": {"port": "5439", "schema": "public"},
    "sqlserver": {"port": "1433", "schema": "dbo"},
}
_KEY = re.compile(r"\{(\w+)\}")
_TABLE = re.compile(r"\{(model|table|schema)\}")
_NAME_IT = f"or name the data set by the table's custom property `{DATASET}`, such as abfss://…/gold/orders"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromisedAsset:
    """A table of a contract, and the asset that it is in the catalog. `server`: the one that was chosen by name."""

    contract: Contract
    table: PromisedTable
    asset: Asset
    server: str = ""

    @property
    def source(self) -> str:
        """By what the promise is told apart from those of other contracts, and of the same one elsewhere."""
        return f"{self.contract.id} on {self.server}" if self.server else self.contract.id


def promised_assets(contract: Contract, names: Names, *, server: str = "") -> tuple[list[PromisedAsset], list[str]]:
    """The assets of a contract's tables, and the mistakes, each with its place. `server`: the name of the one meant,
    where the contract has several.
    """
    promised: list[PromisedAsset] = []
    problems: list[str] = []
    place = Place(names=names, environment=NO_ENVIRONMENT)
    for table in contract.tables:
        try:
            namespace, name = _dataset(contract, table, server)
        except ValueError as error:
            problems.append(f"{contract.place}:{table.line}: {table.name}: {text_without_secrets(str(error))}")
            continue
        if is_noise(canonical(namespace, name)):
            problems.append(
                f"{contract.place}:{table.line}: {table.name}: a writer's own file is no data set of a user"
            )
            continue
        asset = place.asset(MergedDataset(namespace=namespace, name=name))
        promised.append(PromisedAsset(contract=contract, table=table, asset=asset, server=server))
    return promised, problems


def with_certain_names(contract: Contract, names: Names, *, server: str = "") -> Contract:
    """The contract with the qualified name of each table first among its names, where its place is certain."""
    promised, _ = promised_assets(contract, names, server=server)
    by_table = {entry.table: entry.asset.qualified_name.rstrip("/") for entry in promised}
    tables = (
        replace(table, names=(name, *table.names), certain=name) if (name := by_table.get(table)) else table
        for table in contract.tables
    )
    return replace(contract, tables=tuple(tables))


def twice_promised(promised: Iterable[PromisedAsset]) -> Iterator[str]:
    """A mistake for each table whose asset an earlier one has."""
    first: dict[tuple[str, str], PromisedAsset] = {}
    for entry in promised:
        earlier = first.setdefault(entry.asset.key, entry)
        if earlier is not entry:
            yield (
                f"{entry.contract.place}:{entry.table.line}: {entry.table.name} is {entry.asset.qualified_name}, as is"
                f" {earlier.table.name} ({earlier.contract.place}:{earlier.table.line})"
            )


def _dataset(contract: Contract, table: PromisedTable, server: str) -> tuple[str, str]:
    """Namespace and name. Raises ValueError without a place."""
    if text := table.dataset or (table.physical if "://" in table.physical else ""):
        if _TABLE.search(text) or "*" in text:
            raise ValueError(f"{text} is a pattern: write the whole address")
        return dataset_at(text) or _fail(f"{text} is no address: write scheme://host/name")
    server_found = _server(contract, server)
    if location := server_found.values.get("location") or server_found.values.get("path"):
        return _located(location, table, is_alone=len(contract.tables) == 1)
    kind = _SAME.get(server_found.type, server_found.type)
    if kind not in _FORMS:
        raise ValueError(
            f"server {server_found.name} is of type {server_found.type!r}, of which no names are known: {_OTHERWISE}"
        )
    values = {**_DEFAULTS.get(kind, {}), **server_found.values}
    namespace, prefix = _FORMS[kind]
    own_parts = table.physical.split(".")
    parts = prefix.split(".")[:-1]
    needed = parts[: max(0, len(parts) + 1 - len(own_parts))]  # `schema.table` brings its own schema
    form = ".".join([*needed, ""]) if needed else ""
    if ":" in values.get("host", "") and namespace.endswith(":{port}"):
        namespace = namespace.removesuffix(":{port}")
    lacking = sorted({key for key in _KEY.findall(namespace + form) if key not in values})
    if lacking:
        raise ValueError(
            f"server {server_found.name} (line {server_found.line}) needs {', '.join(lacking)}, {_NAME_IT}"
        )
    return namespace.format(**values), form.format(**values) + table.physical


_OTHERWISE = f"name the data set by the table's custom property `{DATASET}`"


def _server(contract: Contract, name: str) -> DataServer:
    servers = [server for server in contract.servers if not name or server.name == name]
    if len(servers) == 1:
        return servers[0]
    all_names = ", ".join(server.name for server in contract.servers)
    if not contract.servers:
        raise ValueError(f"the contract has no server: add one, {_NAME_IT}")
    raise ValueError(
        f"the contract has no server {name}: it has {all_names}"
        if name
        else f"the contract has {len(servers)} servers ({all_names}): choose one by --server, {_NAME_IT}"
    )


def _located(location: str, table: PromisedTable, *, is_alone: bool) -> tuple[str, str]:
    """What is at a location, in which `{model}` stands for the table."""
    if not is_alone and not _TABLE.search(location):
        raise ValueError(
            f"{location} is the place of several tables: write {{model}} where their names stand, {_NAME_IT}"
        )
    text = _TABLE.sub(lambda _: table.physical, location)
    return dataset_at(text) or _fail(f"{text} is no certain place: write abfss://CONTAINER@ACCOUNT…/PATH, {_NAME_IT}")


def _fail(problem: str) -> NoReturn:
    raise ValueError(problem)
