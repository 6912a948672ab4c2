"""MySQL: Azure's in all clouds. Purview's names for other servers are not documented, so those are generic.

Canonical: `mysql://host:port` and `database.table`. Older listeners put the database into the namespace; 1.25
repeats it before a qualified table.
"""

from shared.naming.rules.normalization import PART, table_folded, table_parts, unquoted
from shared.naming.rules.rule import AlternateName, NamingRule, rule
from shared.naming.rules.store import StoreFamily
from shared.naming.stores.services.postgres import host_and_database

RULES: tuple[NamingRule, ...] = (
    rule(
        "azure-mysql-table",
        type="azure_mysql_table",
        namespace=r"mysql://(?P<host>[^./:]+\.mysql\.database\.(?:azure\.com|chinacloudapi\.cn|usgovcloudapi\.net)):\d+",
        path=rf"(?P<database>{PART})\.(?P<table>{PART})",
        to="mysql://{host}/{database}/{table}",
        because="Purview's scan of Azure Database for MySQL names tables so",
        also=(AlternateName(type="azure_mysql_view"),),
        clean=unquoted,
    ),
)


def _fold(rest: str, name: str) -> tuple[str, str]:
    host, database = host_and_database(rest, "3306")
    parts = table_parts(name.strip("/"))[-2:]
    if len(parts) == 1 and database and parts[0]:
        parts = [database, *parts]
    return host, table_folded(parts)


STORES: tuple[StoreFamily, ...] = (StoreFamily(schemes=("mysql",), fold=_fold, rules=RULES),)
