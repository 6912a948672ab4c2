"""Azure Data Explorer (Kusto) in all clouds.

Canonical: `azurekusto://cluster/database` and the table; OpenLineage's newer form has the database in the name.
Listeners append `.kusto.windows.net` to the user's cluster, even to a whole address. A query is named `COMPLEX`: one
generic data set for each database.
"""

import re

from shared.naming.rules.normalization import QUERY
from shared.naming.rules.rule import GENERIC, NamingRule, rule
from shared.naming.rules.store import StoreFamily

_PLACE = r"azurekusto://(?P<host>[^/:]+)/(?P<database>[^/]+)"

RULES: tuple[NamingRule, ...] = (
    rule(
        "kusto-query",
        type=GENERIC,
        namespace=_PLACE,
        path=QUERY,
        to=f"https://{{host}}/{{database}}/{QUERY}",
        because="a query whose tables the listener does not report",
    ),
    rule(
        "kusto-table",
        type="azure_data_explorer_table",
        namespace=_PLACE,
        path="(?P<table>[^/]+)",
        to="https://{host}/{database}/{table}",
        because="Purview's scan of Azure Data Explorer names tables so",
    ),
)

_ADDRESS = re.compile(r"(?:https?:/*)?(?P<host>[^/:]*)(?::\d+)?(?:/+(?P<database>[^?;]*))?(?:[?;].*)?", re.DOTALL)
_TWICE = re.compile(r"(\.kusto\.[a-z.]+?)\.kusto\.windows\.net")


def _fold(rest: str, name: str) -> tuple[str, str]:
    found = _ADDRESS.fullmatch(rest.rstrip("/"))
    if found is None:
        return rest, name.strip("/")
    host = _TWICE.sub(r"\1", found["host"].lower())
    database, table = (found["database"] or "").strip("/"), name.strip("/")
    if not database:
        database, _, table = table.rpartition("/")
    database = database.strip("/")
    return f"{host}/{database}" if database else host, table


STORES: tuple[StoreFamily, ...] = (StoreFamily(schemes=("azurekusto",), fold=_fold, rules=RULES),)
