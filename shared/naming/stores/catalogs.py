"""Catalogs of tables: Hive metastores, Unity Catalog, Iceberg. Their tables arrive as symlinks of a location."""

from shared.naming.rules.normalization import authority_folded, table_folded, table_parts
from shared.naming.rules.rule import GENERIC, AlternateName, NamingRule, rule, table_rule
from shared.naming.rules.store import StoreFamily

# --- A Hive metastore: `hive://host:port`, `database.table`. It is named by its Databricks workspace if the run has
# one, as a scan of that metastore names its tables; else by its host.

_METASTORE = r"hive://(?P<host>[^:/]+)(?::\d+)?(?:/.*)?"
_TABLE = r"(?:(?P<catalog>[^./`]+)\.)?(?P<database>[^./`]+)\.(?P<table>[^./`]+)"
_SCAN = "Purview's scan of a Hive metastore names tables so"

_HIVE: tuple[NamingRule, ...] = (
    rule(
        "hive-table-of-workspace",
        type="hive_table",
        namespace=_METASTORE,
        path=_TABLE,
        to="{database}.{table}@{workspace}",
        because=_SCAN + ", by the Databricks workspace it serves",
        also=(AlternateName(type="hive_view"), AlternateName(type="hive_table", to="{database}.{table}@{host}")),
    ),
    rule(
        "hive-table",
        type="hive_table",
        namespace=_METASTORE,
        path=_TABLE,
        to="{database}.{table}@{host}",
        because=_SCAN + ", by the metastore's host",
        also=(AlternateName(type="hive_view"),),
    ),
)

# --- Unity Catalog: `unity-catalog` on Databricks, `unitycatalog://host` from the open-source server, and
# `catalog.schema.table` both. A scan names tables by the metastore's id. The names file maps a workspace's host to it;
# without it the host stays, as in one vendor's scanner.

_NAME = "databricks://{workspace}/catalogs/{catalog}/schemas/{schema}/tables/{table}"
_IDS = (("workspace", ("workspace",)),)

_UNITY = table_rule(
    "unity-catalog-table",
    type="databricks_table",
    namespace="unity-catalog",
    parts="catalog.schema.table",
    to=_NAME,
    because="Purview's scan of Unity Catalog names tables so, by the metastore's id",
    ids=_IDS,
)
_UNITY_SERVER = table_rule(
    "unity-catalog-server-table",
    type="databricks_table",
    namespace=r"unitycatalog://(?P<workspace>[^:/]+)(?::\d+)?(?:/.*)?",
    parts="catalog.schema.table",
    to=_NAME,
    because="as a scan of Unity Catalog names tables; not verified for own servers",
    ids=_IDS,
)


def _fold(rest: str, name: str) -> tuple[str, str]:
    return authority_folded(rest), table_folded(table_parts(name.strip("/")))


# --- Iceberg's REST catalog: its address, `database.table`. Iceberg tables are named by their location, or by the Hive
# metastore or Unity Catalog that is their catalog.

_ICEBERG = rule(
    "iceberg-rest-table",
    type=GENERIC,
    namespace="(?P<address>https?://.+)",
    path=r"(?P<database>[^/`]+)\.(?P<table>[^./`]+)",
    to="{address}/{database}.{table}",
    because="an Iceberg catalog's table; no scan of Purview names it so",
    decides=False,
)

STORES: tuple[StoreFamily, ...] = (
    StoreFamily(schemes=("hive",), rules=_HIVE, has_tables=True),
    StoreFamily(schemes=("unity-catalog",), fold=_fold, rules=(_UNITY,), has_tables=True),
    StoreFamily(schemes=("unitycatalog",), fold=_fold, rules=(_UNITY_SERVER,), has_tables=True),
    *(StoreFamily(schemes=(scheme,), rules=(_ICEBERG,), has_tables=True) for scheme in ("http", "https")),
)
