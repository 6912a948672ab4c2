"""Databases: a data set is a table of a server.

The spelling of the newest listeners is the canonical one. Older ones have the database in the namespace, or an address
with properties (seen by running listeners 1.12, 1.25 and 1.53).
"""

import re
from urllib.parse import quote, unquote

from shared.naming.stores.families import (
    GENERIC,
    PART,
    PROPERTIES,
    QUERY,
    AlternateName,
    NamingRule,
    StoreFamily,
    as_table,
    authority_folded,
    qualified,
    table_folded,
    table_parts,
    unquoted,
)
from shared.naming.stores.rule_forms import generic_rule, rule, table_rule

# --- Fabric's lakehouses and warehouses: names of tables, whether a path of OneLake or a SQL endpoint names them.
# Purview's scan names a lakehouse's tables by the ids of workspace and lakehouse. No scan is known to name a
# warehouse's: its form here is the one that dbt's adapter for Fabric writes to Purview. A path with ids gives the exact
# name. For names the names file (`THROUGHLINE_NAMES`) has the ids, also of what a SQL endpoint serves; without it they
# stay.

_GROUP = "https://app.fabric.microsoft.com/groups/{workspace}"
_WORKSPACE = ("workspace", ("workspace",))

LAKEHOUSE_TABLE = "fabric_lakehouse_table"
LAKEHOUSE_NAME = _GROUP + "/lakehouses/{lakehouse}/tables/"
LAKEHOUSE_IDS = (("lakehouse", ("workspace", "lakehouse")), _WORKSPACE)
LAKEHOUSE_SCAN = "Purview's scan of Fabric names lakehouse tables so, by the ids of workspace and lakehouse"

WAREHOUSE_TABLE = "fabric_warehouse_table"
WAREHOUSE_NAME = _GROUP + "/warehouses/{warehouse}/schemas/{schema}/tables/{table}"
WAREHOUSE_IDS = (("warehouse", ("workspace", "warehouse")), _WORKSPACE)
NO_WAREHOUSE_SCAN = (
    "dbt's adapter for Fabric names warehouse tables in Purview so, by ids; not verified that a scan does"
)


def workspace_folded(name: str) -> str:
    """A workspace's name as an authority holds it: in lower case and percent-encoded."""
    return quote(unquote(name).lower(), safe="").lower()


_TABLE = "database.schema.table"
_AZURE = r"database\.(?:azure\.com|chinacloudapi\.cn|usgovcloudapi\.net)"

# --- SQL Server in all clouds: Azure SQL Database, Managed Instance, Synapse's dedicated and serverless pools, Fabric's
# SQL endpoints, others. Spark calls them all `sqlserver`, OpenLineage's naming page, dbt and Airflow `mssql`, and dbt
# Fabric's `fabric-warehouse`. Canonical: `sqlserver://host:port` or `sqlserver://host/instance`, and
# `database.schema.table`. Listeners before 1.13 put JDBC properties into the namespace
# (`sqlserver://host:1433;database=db`) and no database into the name; newer ones do the opposite. On Databricks a
# subquery is named `COMPLEX`: a generic data set for each database, which the tables in the SQL replace.

_PORT = r"(?::\d+)?"
_CLOUD = r"(?:database\.(?:windows\.net|chinacloudapi\.cn|usgovcloudapi\.net|cloudapi\.de))"
_SYNAPSE = r"sql\.azuresynapse\.(?:net|azure\.cn|usgovcloudapi\.net)"
_FABRIC = r"[^./:]+(?:\.[^./:]+)?\.datawarehouse\.(?:fabric\.microsoft\.com|pbidedicated\.windows\.net)"
_FABRIC_DATABASE = r"[^/:]+\.database\.fabric\.microsoft\.com"
_ANY_SERVER = rf"(?!(?:{_FABRIC}|{_FABRIC_DATABASE})\b)[^/:]+"
_MSSQL = "mssql://{server}/{database}/{schema}/{table}"


def _hosted(name: str, kind: str, server: str, product: str) -> NamingRule:
    return table_rule(
        name,
        type=f"{kind}_table",
        namespace=rf"sqlserver://(?P<server>{server}){_PORT}",
        parts=_TABLE,
        to=_MSSQL,
        because=f"Purview's scan of {product} names tables so",
        also=(AlternateName(type=f"{kind}_view"),),
    )


_SQL_SERVER: tuple[NamingRule, ...] = (
    rule(
        "sql-server-query",
        type=GENERIC,
        namespace=r"sqlserver://(?P<server>.+?)(?::\d+)?",
        path=rf"(?:(?P<database>{PART})\.)?{QUERY}",
        to=f"mssql://{{server}}/{{database}}/{QUERY}",
        because="a subquery whose tables the listener does not report",
        clean=unquoted,
    ),
    _hosted("azure-sql-table", "azure_sql", rf"[^./:]+\.{_CLOUD}", "Azure SQL Database"),
    _hosted("azure-sql-mi-table", "azure_sql_mi", rf"[^./:]+\.[^./:]+\.{_CLOUD}", "SQL Managed Instance"),
    _hosted(
        "synapse-serverless-table",
        "azure_synapse_serverless_sql",
        rf"[^./:]+-ondemand\.{_SYNAPSE}",
        "Synapse's serverless pools",
    ),
    _hosted("synapse-dedicated-table", "azure_synapse_dedicated_sql", rf"[^./:]+\.{_SYNAPSE}", "Synapse"),
    table_rule(
        "fabric-endpoint-lakehouse-table",
        type=LAKEHOUSE_TABLE,
        namespace=rf"sqlserver://(?P<workspace>{_FABRIC}){_PORT}",
        parts="lakehouse.schema.table",
        to=LAKEHOUSE_NAME + "{schema}%252F{table}",
        because=LAKEHOUSE_SCAN + "; its SQL endpoint has schemas",
        also=(AlternateName(type=LAKEHOUSE_TABLE, to=LAKEHOUSE_NAME + "{table}"),),
        ids=LAKEHOUSE_IDS,
        by_id=True,
    ),
    table_rule(
        "fabric-warehouse-table",
        type=WAREHOUSE_TABLE,
        namespace=rf"sqlserver://(?P<workspace>{_FABRIC}){_PORT}",
        parts="warehouse.schema.table",
        to=WAREHOUSE_NAME,
        because=NO_WAREHOUSE_SCAN,
        ids=WAREHOUSE_IDS,
    ),
    table_rule(
        "fabric-database-table",
        type=GENERIC,
        namespace=rf"sqlserver://(?P<server>{_FABRIC_DATABASE}){_PORT}",
        parts=_TABLE,
        to=_MSSQL,
        because="no scan is known to name tables of Fabric's SQL databases",
    ),
    table_rule(
        "sql-server-table",
        type="mssql_table",
        namespace=rf"sqlserver://(?P<server>{_ANY_SERVER}){_PORT}",
        parts=_TABLE,
        to="mssql://{server}/MSSQLSERVER/{database}/{schema}/{table}",
        because="Purview's scan of SQL Server names tables by server and instance; not verified for the default one",
        also=(AlternateName(type="mssql_view"), AlternateName(type="mssql_table", to=_MSSQL)),
    ),
    table_rule(
        "sql-server-instance-table",
        type="mssql_table",
        namespace=rf"sqlserver://(?P<server>{_ANY_SERVER})/(?P<instance>[^/]+)",
        parts=_TABLE,
        to="mssql://{server}/{instance}/{database}/{schema}/{table}",
        because="Purview's scan of SQL Server names tables by server and instance",
        also=(AlternateName(type="mssql_view"),),
    ),
    generic_rule("sql-server-name", "the database of the table is not in the event"),
)

_SQL_SERVER_SCHEMAS = frozenset({"dbo", "sys", "information_schema", "guest"})
_SQL_SERVER_ADDRESS = re.compile(
    r"(?P<host>[^:/\\]*)(?:[\\/](?P<named>[^:/\\]+))?(?::(?P<port>[0-9]+))?(?:/(?P<instance>[^:/\\]+))?"
)
_LABEL = re.compile(r"[^:/\\;]+")
_PUBLIC = re.compile(rf"([^.]+)\.public\.([^.]+\.{_CLOUD})")


def _sql_server(location: str, name: str) -> tuple[str, str]:
    address, *assignments = location.split(";")
    properties = {key.strip().lower(): value.strip() for key, _, value in (pair.partition("=") for pair in assignments)}
    database = properties.get("databasename") or properties.get("database") or ""
    if name.rpartition(".")[2] == QUERY:
        database = name.removesuffix(QUERY).rstrip(".") or database
        table = f"{database}.{QUERY}" if database else QUERY
    else:
        table = qualified(name, database=database, schema="dbo", schemas=_SQL_SERVER_SCHEMAS)
    return _server(address.rstrip("/"), properties), table


def _server(address: str, properties: dict[str, str]) -> str:
    match = _SQL_SERVER_ADDRESS.fullmatch(address)
    host = (match["host"] or properties.get("servername", "")).lower() if match else ""
    if not match or not _LABEL.fullmatch(host):
        return authority_folded(address)
    instance = _LABEL.match(match["named"] or match["instance"] or properties.get("instancename", ""))
    if instance:
        return f"{host}/{instance[0]}"
    port = match["port"] or properties.get("portnumber", "")
    if public := _PUBLIC.fullmatch(host):
        host, port = f"{public[1]}.{public[2]}", ""  # a managed instance's public endpoint, on port 3342
    return f"{host}:{port or '1433'}"


# --- PostgreSQL: Azure's in all clouds, and own servers. Canonical: `postgres://host:port`, `database.schema.table`.
# The accelerator's form has the database in the namespace. Listeners before 1.13 omit the database: their
# `schema.table` is read as `database.table`.

_POSTGRES_SERVER = "postgresql://servers/{host}/dbs/{database}/schemas/{schema}"

_POSTGRES: tuple[NamingRule, ...] = (
    table_rule(
        "azure-postgresql-table",
        type="azure_postgresql_table",
        namespace=rf"postgres://(?P<host>[^./:]+\.postgres\.{_AZURE}):\d+",
        parts=_TABLE,
        to="postgresql://{host}/{database}/{schema}/{table}",
        because="Purview's scan of Azure Database for PostgreSQL names tables so",
        also=(AlternateName(type="azure_postgresql_view"),),
    ),
    table_rule(
        "postgresql-table",
        type="postgresql_table",
        namespace=r"postgres://(?P<host>[^/]+)",
        parts=_TABLE,
        to=_POSTGRES_SERVER + "/tables/{table}",
        because="Purview's scan of PostgreSQL names tables so",
        also=(AlternateName(type="postgresql_view", to=_POSTGRES_SERVER + "/views/{table}"),),
    ),
)

_POSTGRES_SCHEMAS = frozenset({"public", "pg_catalog", "information_schema"})


def _host_and_database(location: str, port: str) -> tuple[str, str]:
    """`host:port` (for each host, with the default port if it has none) and the database of `host[:port][/db]`."""
    authority, _, database = PROPERTIES.split(location, 1)[0].rstrip("/").partition("/")
    hosts = [host if ":" in host else f"{host}:{port}" for host in authority.lower().split(",") if host]
    return ",".join(hosts), database


def _postgres(location: str, name: str) -> tuple[str, str]:
    host, database = _host_and_database(location, "5432")
    return host, qualified(name, database=database, schema="public", schemas=_POSTGRES_SCHEMAS)


# --- MySQL: Azure's in all clouds. Purview's names for other servers are not documented, so those are generic.
# Canonical: `mysql://host:port`, `database.table`. Older listeners put the database into the namespace; 1.25 repeats it
# before a qualified table.

_MYSQL: tuple[NamingRule, ...] = (
    table_rule(
        "azure-mysql-table",
        type="azure_mysql_table",
        namespace=rf"mysql://(?P<host>[^./:]+\.mysql\.{_AZURE}):\d+",
        parts="database.table",
        to="mysql://{host}/{database}/{table}",
        because="Purview's scan of Azure Database for MySQL names tables so",
        also=(AlternateName(type="azure_mysql_view"),),
    ),
    generic_rule("mysql-name", "Purview scans MySQL servers, but the form of its names is not public"),
)


def _mysql(location: str, name: str) -> tuple[str, str]:
    host, database = _host_and_database(location, "3306")
    parts = table_parts(name.strip("/"))[-2:]
    if len(parts) == 1 and database and parts[0]:
        parts = [database, *parts]
    return host, table_folded(parts)


# --- Oracle. Canonical: `oracle://host:port`, `service.schema.table`. Older listeners send the driver's address
# (`oracle:thin:@//host:1521/service`, `@host:1521:sid`, or a descriptor), and 1.25 leaves the port in the name.

_ORACLE = table_rule(
    "oracle-table",
    type="oracle_table",
    namespace=r"oracle://(?P<host>[^:/]+):\d+",
    parts="service.schema.table",
    to="oracle://{host}/{schema}/{table}",
    because="Purview's scan of Oracle names tables so",
    also=(AlternateName(type="oracle_view"),),
)

_ORACLE_ADDRESS = re.compile(
    r"/*(?P<host>[^:/(),]+)(?::(?P<port>\d+))?(?:[:/](?P<service>[^/:?]+))?(?:[:/?].*)?", re.DOTALL
)
_ORACLE_HOST = re.compile(r"\(\s*host\s*=\s*([^()\s:/,]+)\s*\)", re.IGNORECASE)
_ORACLE_PORT = re.compile(r"\(\s*port\s*=\s*(\d+)\s*\)", re.IGNORECASE)
_ORACLE_SERVICE = re.compile(r"\(\s*(?:service_name|sid)\s*=\s*([^()\s]+)\s*\)", re.IGNORECASE)
_PORT_BEFORE = re.compile(r"\A\d+/(?=[^/.]+\.)")


def _oracle(location: str, name: str) -> tuple[str, str]:
    host, service = _oracle_address(location)
    parts = table_parts(_PORT_BEFORE.sub("", name.strip("/"), count=1))
    if service and parts[-1] and parts[0] != service:
        parts = [service, *parts[-2:]]
    return host, table_folded(parts[-3:])


def _oracle_address(location: str) -> tuple[str, str]:
    host = port = service = ""
    if "(" in location:
        patterns = (_ORACLE_HOST, _ORACLE_PORT, _ORACLE_SERVICE)
        host, port, service = (match[1] if (match := pattern.search(location)) else "" for pattern in patterns)
    if not host and (address := _ORACLE_ADDRESS.fullmatch(location)):
        host, port, service = address["host"], address["port"], address["service"] or ""
    return (f"{host.lower()}:{port or '1521'}", service) if host else (location, "")


# --- DuckDB: a file. dbt writes `duckdb://path`, Spark's JDBC `duckdb:path`, and a table's name without the database,
# which is the file's name without its ending.

_DUCKDB = generic_rule("duckdb-name", "a file's database, which no scan finds")


def _duckdb(location: str, name: str) -> tuple[str, str]:
    path = location.partition("?")[0]
    database = path.rpartition("/")[2].partition(".")[0]
    return path, qualified(name, database=database, schema="main", schemas=frozenset({"main", "information_schema"}))


# --- Databases whose tables are generic data sets, with the reason.

_NOT_SCANNED = "no scan of it is known"
_UNKNOWN_NAMES = "Purview scans it, but the form of its names is not public"

_GENERIC = {
    "cassandra": _UNKNOWN_NAMES,
    "clickhouse": _NOT_SCANNED,
    "crate": _NOT_SCANNED,
    "db2": _UNKNOWN_NAMES,
    "dremio": _NOT_SCANNED,
    "milvus": _NOT_SCANNED,
    "oceanbase": _NOT_SCANNED,
    "spanner": _NOT_SCANNED,
    "teradata": _UNKNOWN_NAMES,
    "trino": "a query engine: which store holds the table the file of names can tell",
}

STORES: tuple[StoreFamily, ...] = (
    StoreFamily(schemes=("sqlserver", "mssql", "fabric-warehouse"), fold=_sql_server, rules=_SQL_SERVER),
    StoreFamily(schemes=("postgres", "postgresql"), fold=_postgres, rules=_POSTGRES),
    StoreFamily(schemes=("mysql",), fold=_mysql, rules=_MYSQL),
    StoreFamily(schemes=("oracle", "oracle:thin", "oracle:oci"), fold=_oracle, rules=(_ORACLE,)),
    StoreFamily(schemes=("duckdb",), fold=_duckdb, rules=(_DUCKDB,)),
    *(
        StoreFamily(schemes=(scheme,), fold=as_table, rules=(generic_rule(f"{scheme}-name", reason),), fallback=True)
        for scheme, reason in _GENERIC.items()
    ),
)
