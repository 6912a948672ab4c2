"""PostgreSQL: Azure's in all clouds, and own servers.

Canonical: `postgres://host:port` and `database.schema.table`, OpenLineage's form; the accelerator's form has the
database in the namespace. Listeners before 1.13 omit the database: their `schema.table` is read as `database.table`.
"""

import re

from shared.naming.rules.normalization import PART, qualified, unquoted
from shared.naming.rules.rule import AlternateName, NamingRule, rule
from shared.naming.rules.store import StoreFamily

_TABLE = rf"(?P<database>{PART})\.(?P<schema>{PART})\.(?P<table>{PART})"
_AZURE = r"[^./:]+\.postgres\.database\.(?:azure\.com|chinacloudapi\.cn|usgovcloudapi\.net)"

RULES: tuple[NamingRule, ...] = (
    rule(
        "azure-postgresql-table",
        type="azure_postgresql_table",
        namespace=rf"postgres://(?P<host>{_AZURE}):\d+",
        path=_TABLE,
        to="postgresql://{host}/{database}/{schema}/{table}",
        because="Purview's scan of Azure Database for PostgreSQL names tables so",
        also=(AlternateName(type="azure_postgresql_view"),),
        clean=unquoted,
    ),
    rule(
        "postgresql-table",
        type="postgresql_table",
        namespace=r"postgres://(?P<host>[^/]+)",
        path=_TABLE,
        to="postgresql://servers/{host}/dbs/{database}/schemas/{schema}/tables/{table}",
        because="Purview's scan of PostgreSQL names tables so",
        also=(
            AlternateName(
                type="postgresql_view",
                to="postgresql://servers/{host}/dbs/{database}/schemas/{schema}/views/{table}",
            ),
        ),
        clean=unquoted,
    ),
)

_PROPERTIES = re.compile("[?;]")
_SCHEMAS = frozenset({"public", "pg_catalog", "information_schema"})


def host_and_database(rest: str, port: str) -> tuple[str, str]:
    """`host:port` (for each host, with the default port if it has none) and the database of `host[:port][/db]`."""
    authority, _, database = _PROPERTIES.split(rest, 1)[0].rstrip("/").partition("/")
    hosts = [host if ":" in host else f"{host}:{port}" for host in authority.lower().split(",") if host]
    return ",".join(hosts), database


def _fold(rest: str, name: str) -> tuple[str, str]:
    host, database = host_and_database(rest, "5432")
    return host, qualified(name, database=database, schema="public", schemas=_SCHEMAS)


STORES: tuple[StoreFamily, ...] = (StoreFamily(schemes=("postgres", "postgresql"), fold=_fold, rules=RULES),)
