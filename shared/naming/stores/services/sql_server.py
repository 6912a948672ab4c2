"""SQL Server in all clouds: Azure SQL Database, Managed Instance, Synapse's dedicated and serverless pools, others.

Canonical: `sqlserver://host:port` or `sqlserver://host/instance`, and `database.schema.table`. Listeners before 1.13
put JDBC properties into the namespace (`sqlserver://host:1433;database=db`) and no database into the name; newer ones
do the opposite (seen by running both). On Databricks a subquery is named `COMPLEX`: a generic data set for each
database, which the tables in the SQL replace.
"""

import re

from shared.naming.rules.normalization import PART, QUERY, authority_folded, qualified, unquoted
from shared.naming.rules.rule import GENERIC, AlternateName, NamingRule, rule
from shared.naming.rules.store import StoreFamily

_TABLE = rf"(?P<database>{PART})\.(?P<schema>{PART})\.(?P<table>{PART})"
_PORT = r"(?::\d+)?"
_CLOUD = r"(?:database\.(?:windows\.net|chinacloudapi\.cn|usgovcloudapi\.net|cloudapi\.de))"
_SYNAPSE = r"sql\.azuresynapse\.(?:net|azure\.cn|usgovcloudapi\.net)"
_NAME = "mssql://{server}/{database}/{schema}/{table}"


def _hosted(name: str, kind: str, server: str, of: str) -> NamingRule:
    return rule(
        name,
        type=f"{kind}_table",
        namespace=rf"sqlserver://(?P<server>{server}){_PORT}",
        path=_TABLE,
        to=_NAME,
        because=f"Purview's scan of {of} names tables so",
        also=(AlternateName(type=f"{kind}_view"),),
        clean=unquoted,
    )


_OWN = r"[^/:]+(?<!\.fabric\.microsoft\.com)"

RULES: tuple[NamingRule, ...] = (
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
    rule(
        "sql-server-table",
        type="mssql_table",
        namespace=rf"sqlserver://(?P<server>{_OWN}){_PORT}",
        path=_TABLE,
        to="mssql://{server}/MSSQLSERVER/{database}/{schema}/{table}",
        because="Purview's scan of SQL Server names tables by server and instance; not verified for the default one",
        also=(AlternateName(type="mssql_view"), AlternateName(type="mssql_table", to=_NAME)),
        clean=unquoted,
    ),
    rule(
        "sql-server-instance-table",
        type="mssql_table",
        namespace=rf"sqlserver://(?P<server>{_OWN})/(?P<instance>[^/]+)",
        path=_TABLE,
        to="mssql://{server}/{instance}/{database}/{schema}/{table}",
        because="Purview's scan of SQL Server names tables by server and instance",
        also=(AlternateName(type="mssql_view"),),
        clean=unquoted,
    ),
)

_SCHEMAS = frozenset({"dbo", "sys", "information_schema", "guest"})
_ADDRESS = re.compile(
    r"(?P<host>[^:/\\]*)(?:[\\/](?P<named>[^:/\\]+))?(?::(?P<port>[0-9]+))?(?:/(?P<instance>[^:/\\]+))?"
)
_LABEL = re.compile(r"[^:/\\;]+")
_PUBLIC = re.compile(rf"([^.]+)\.public\.([^.]+\.{_CLOUD})")
_DEFAULT_PORT = "1433"


def _fold(rest: str, name: str) -> tuple[str, str]:
    address, *properties = rest.split(";")
    given = {key.strip().lower(): value.strip() for key, _, value in (each.partition("=") for each in properties)}
    database = given.get("databasename") or given.get("database") or ""
    if name.rpartition(".")[2] == QUERY:
        known = name.removesuffix(QUERY).rstrip(".") or database
        folded = f"{known}.{QUERY}" if known else QUERY
    else:
        folded = qualified(name, database=database, schema="dbo", schemas=_SCHEMAS)
    return _server(address.rstrip("/"), given), folded


def _server(address: str, given: dict[str, str]) -> str:
    found = _ADDRESS.fullmatch(address)
    host = (found["host"] or given.get("servername", "")).lower() if found else ""
    if not found or not _LABEL.fullmatch(host):
        return authority_folded(address)
    instance = _LABEL.match(found["named"] or found["instance"] or given.get("instancename", ""))
    if instance:
        return f"{host}/{instance[0]}"
    port = found["port"] or given.get("portnumber", "")
    if public := _PUBLIC.fullmatch(host):
        host, port = f"{public[1]}.{public[2]}", ""  # a managed instance's public endpoint, on port 3342
    return f"{host}:{port or _DEFAULT_PORT}"


STORES: tuple[StoreFamily, ...] = (StoreFamily(schemes=("sqlserver",), fold=_fold, rules=RULES),)
