"""Tables of a Hive metastore. They arrive as symlinks of a location: `hive://host:port`, `database.table`.

The metastore is named by its Databricks workspace if the run has one, as a scan of that metastore names its tables;
else by its host.
"""

from shared.naming.rules.rule import AlternateName, NamingRule, rule
from shared.naming.rules.store import StoreFamily

_TABLE = r"(?:(?P<catalog>[^./`]+)\.)?(?P<database>[^./`]+)\.(?P<table>[^./`]+)"
_PLACE = r"hive://(?P<host>[^:/]+)(?::\d+)?(?:/.*)?"
_SCAN = "Purview's scan of a Hive metastore names tables so"

RULES: tuple[NamingRule, ...] = (
    rule(
        "hive-table-of-workspace",
        type="hive_table",
        namespace=_PLACE,
        path=_TABLE,
        to="{database}.{table}@{workspace}",
        because=_SCAN + ", by the Databricks workspace it serves",
        also=(AlternateName(type="hive_view"), AlternateName(type="hive_table", to="{database}.{table}@{host}")),
    ),
    rule(
        "hive-table",
        type="hive_table",
        namespace=_PLACE,
        path=_TABLE,
        to="{database}.{table}@{host}",
        because=_SCAN + ", by the metastore's host",
        also=(AlternateName(type="hive_view"),),
    ),
)

STORES: tuple[StoreFamily, ...] = (StoreFamily(schemes=("hive",), rules=RULES, has_tables=True),)
