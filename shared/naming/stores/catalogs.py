"""Catalogs of tables: Hive metastores, Unity Catalog, Glue, Iceberg. Tables often arrive as symlinks of a location.

Names of Hive and Unity Catalog are in lower case, as both store them: producers send them as their users typed them.
"""

import re

from shared.naming.stores.families import (
    GENERIC,
    AlternateName,
    NamingRule,
    StoreFamily,
    as_table,
    generic_rule,
    rule,
    table_rule,
)
from shared.naming.stores.normalization import authority_folded, table_folded, table_parts, unquoted


def _lower(part: str) -> str:
    return unquoted(part).lower()


# --- A Hive metastore: `hive://host:port`, `database.table`. It is named by its Databricks workspace if the run has
# one, as a scan of that metastore names its tables; else by its host.

_METASTORE = r"hive://(?P<host>[^:/]+)(?::\d+)?(?:/.*)?"
_TABLE = r"(?:(?P<catalog>[^./`]+)\.)?(?P<database>[^./`]+)\.(?P<table>[^./`]+)"
_SCAN = "Purview's scan of a Hive metastore names tables so"
_OF_WORKSPACE = "{database}.{table}@{workspace}"
_VIEW = AlternateName(type="hive_view")

_HIVE: tuple[NamingRule, ...] = (
    rule(
        "hive-table-of-workspace",
        type="hive_table",
        namespace=_METASTORE,
        path=_TABLE,
        to=_OF_WORKSPACE,
        because=_SCAN + ", by the Databricks workspace it serves",
        also=(_VIEW, AlternateName(type="hive_table", to="{database}.{table}@{host}")),
        clean=_lower,
    ),
    rule(
        "hive-table",
        type="hive_table",
        namespace=_METASTORE,
        path=_TABLE,
        to="{database}.{table}@{host}",
        because=_SCAN + ", by the metastore's host",
        also=(_VIEW,),
        clean=_lower,
    ),
)

# --- Unity Catalog: `unity-catalog` from Databricks' listener, `unitycatalog://host` from the open-source server,
# `databricks://host` from dbt and Airflow, `spark://host:443` from dbt's adapter for Spark, and `catalog.schema.table`
# all. A scan names tables by the metastore's id. The names file maps a workspace's host to it; without it the host
# stays, as in one vendor's scanner. Two parts are a table of the workspace's Hive metastore, which Unity Catalog also
# calls `hive_metastore`.

_NAME = "databricks://{workspace}/catalogs/{catalog}/schemas/{schema}/tables/{table}"
_IDS = (("workspace", ("workspace",)),)
_BY_METASTORE = "Purview's scan of Unity Catalog names tables so, by the metastore's id"
_BY_WORKSPACE = "Purview's scan of a Databricks workspace's Hive metastore names its tables so"


def _databricks(name: str, namespace: str) -> tuple[NamingRule, ...]:
    """The rules for tables of a workspace; `namespace`: a pattern that names it, or else the run's environment does."""
    return (
        table_rule(
            f"{name}-table",
            type="databricks_table",
            namespace=namespace,
            parts="catalog.schema.table",
            to=_NAME,
            because=_BY_METASTORE,
            ids=_IDS,
            clean=_lower,
        ),
        table_rule(
            f"{name}-hive-table",
            type="hive_table",
            namespace=namespace,
            parts="database.table",
            to=_OF_WORKSPACE,
            because=_BY_WORKSPACE,
            also=(_VIEW,),
            clean=_lower,
        ),
    )


_UNITY = _databricks("unity-catalog", "unity-catalog")
_WORKSPACE = _databricks("databricks", r"databricks://(?P<workspace>[^:/]+)")
_UNITY_SERVER = table_rule(
    "unity-catalog-server-table",
    type="databricks_table",
    namespace=r"unitycatalog://(?P<workspace>[^:/]+)(?::\d+)?(?:/.*)?",
    parts="catalog.schema.table",
    to=_NAME,
    because="as a scan of Unity Catalog names tables; not verified for own servers",
    ids=_IDS,
    clean=_lower,
)
_WORKSPACE_HOST = re.compile(r"[^/:]+\.(?:azuredatabricks\.net|databricks\.(?:com|azure\.(?:us|cn)))(?::\d+)?/?")
_HIVE_METASTORE = frozenset({"hive_metastore", "spark_catalog"})


def _unity(location: str, name: str) -> tuple[str, str]:
    parts = table_parts(name.strip("/"))
    return authority_folded(location), table_folded(parts[1:] if parts[0].lower() in _HIVE_METASTORE else parts)


def _workspace(location: str, name: str) -> tuple[str, str]:
    address, table = _unity(location.removeprefix("https://"), name)
    return re.split("[:/?;]", address, maxsplit=1)[0], table


# --- Other servers of Spark: `spark://host:port` from dbt's adapter, `database.table`.

_SPARK = generic_rule("spark-name", "a Spark server: which metastore it uses the file of names can tell")

# --- Glue: `arn:aws:glue:region:account`, `table/database/table`. Athena's, Spark's and dbt's tables have it as a
# symlink, and no scan is known to name a location in S3, so it comes first.

_GLUE = rule(
    "glue-table",
    type=GENERIC,
    namespace="(?P<catalog>arn:.+)",
    path="table/(?P<database>[^/]+)/(?P<table>[^/]+)",
    to="{catalog}/table/{database}/{table}",
    because="no scan of Glue is known; all producers that know the table give this name",
)
_GLUE_ARN = re.compile(r"aws[a-z-]*:glue:[^:]*:\d*")


def _glue(location: str, name: str) -> tuple[str, str]:
    parts = name.strip("/").removeprefix("table/").replace("/", ".").split(".")
    return location.lower(), "/".join(["table", *parts[-2:]]).lower()


# --- Tables in S3 buckets for tables: `arn:aws:s3tables:…`, `catalog.namespace.table`, with Spark's name of the
# catalog.

_S3_TABLE = generic_rule("s3-tables-name", "no scan of Amazon's S3 Tables is known")
_S3_TABLES_ARN = re.compile(r"aws[a-z-]*:s3tables:.+", re.DOTALL)


def _s3_tables(location: str, name: str) -> tuple[str, str]:
    return location, ".".join(name.strip("/").split(".")[-2:])


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
    StoreFamily(schemes=("unity-catalog",), fold=_unity, rules=_UNITY, has_tables=True),
    StoreFamily(schemes=("unitycatalog",), fold=as_table, rules=(_UNITY_SERVER,), has_tables=True),
    StoreFamily(
        schemes=("databricks", "spark"), authority=_WORKSPACE_HOST, fold=_workspace, rules=_WORKSPACE, has_tables=True
    ),
    StoreFamily(schemes=("databricks",), fold=_workspace, rules=_WORKSPACE, has_tables=True),
    StoreFamily(schemes=("spark",), fold=as_table, rules=(_SPARK,), has_tables=True),
    StoreFamily(schemes=("arn",), separator=":", authority=_GLUE_ARN, fold=_glue, rules=(_GLUE,), has_tables=True),
    StoreFamily(schemes=("arn",), separator=":", authority=_S3_TABLES_ARN, fold=_s3_tables, rules=(_S3_TABLE,)),
    *(StoreFamily(schemes=(scheme,), rules=(_ICEBERG,), has_tables=True) for scheme in ("http", "https")),
)
