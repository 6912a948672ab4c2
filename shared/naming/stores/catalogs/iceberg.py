"""Tables of an Iceberg REST catalog, as symlinks of a location: the catalog's address, and `database.table`.

No scan is known to use these names, so they come last: Iceberg tables are named by their location, or by the Hive
metastore or Unity Catalog that is their catalog.
"""

from shared.naming.rules.rule import GENERIC, NamingRule, rule
from shared.naming.rules.store import StoreFamily

RULES: tuple[NamingRule, ...] = (
    rule(
        "iceberg-rest-table",
        type=GENERIC,
        namespace="(?P<address>https?://.+)",
        path=r"(?P<database>[^/`]+)\.(?P<table>[^./`]+)",
        to="{address}/{database}.{table}",
        because="an Iceberg catalog's table; no scan of Purview names it so",
        decides=False,
    ),
)

STORES: tuple[StoreFamily, ...] = tuple(
    StoreFamily(schemes=(scheme,), rules=RULES, has_tables=True) for scheme in ("http", "https")
)
