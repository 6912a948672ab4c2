"""File stores: a data set is a path.

Azure's are named as Purview's scans name them. Of the others no scan is known to name paths (`decides=False`), so that
a table's name comes first.
"""

import re
from dataclasses import replace

from shared.naming.stores.databases import (
    LAKEHOUSE_IDS,
    LAKEHOUSE_NAME,
    LAKEHOUSE_SCAN,
    LAKEHOUSE_TABLE,
    NO_WAREHOUSE_SCAN,
    WAREHOUSE_IDS,
    WAREHOUSE_NAME,
    WAREHOUSE_TABLE,
    workspace_folded,
)
from shared.naming.stores.families import (
    GENERIC,
    UUID,
    AlternateName,
    Fold,
    NamingRule,
    StoreFamily,
    as_path,
    path_folded,
)
from shared.naming.stores.rule_forms import rule

# --- Azure Data Lake Storage Gen2 and Blob Storage, in all clouds. `abfss` and `wasbs` paths of one account stay two
# data sets, each with the other's name as alternative: which of them a scan finds depends on how the account is
# registered. The host decides: under `abfss` the blob host is the same lake, and under `wasbs` the dfs host, as
# OpenLineage's naming page writes it. Airflow leaves the host out.

_CLOUDS = r"(?:core\.(?:windows\.net|chinacloudapi\.cn|usgovcloudapi\.net|cloudapi\.de)|storage\.azure\.net)"
_ACCOUNT = r"[^./]+(?:\.z\d+)?"
_DATA_LAKE = rf"abfss://(?P<container>[^@/]+)@(?P<account>{_ACCOUNT})\.dfs\.(?P<cloud>{_CLOUDS})"
_BLOB = rf"wasbs://(?P<container>[^@/]+)@(?P<account>{_ACCOUNT})\.blob\.(?P<cloud>{_CLOUDS})"
_LAKE_NAME = "https://{account}.dfs.{cloud}/{container}"
_BLOB_NAME = "https://{account}.blob.{cloud}/{container}"
_RESOURCE_SET = "/{path}/{{SparkPartitions}}"

_AZURE: tuple[NamingRule, ...] = (
    rule(
        "adls-filesystem",
        type="azure_datalake_gen2_filesystem",
        namespace=_DATA_LAKE,
        path="",
        to=_LAKE_NAME,
        because="Purview's scan of ADLS Gen2 names file systems so",
        also=(AlternateName(type="azure_blob_container", to=_BLOB_NAME),),
    ),
    rule(
        "adls-path",
        type="azure_datalake_gen2_path",
        namespace=_DATA_LAKE,
        path="(?P<path>.+)",
        to=_LAKE_NAME + "/{path}",
        because="Purview's scan of ADLS Gen2 names files and folders so",
        also=(
            AlternateName(type="azure_datalake_gen2_resource_set", to=_LAKE_NAME + _RESOURCE_SET),
            AlternateName(type="azure_blob_path", to=_BLOB_NAME + "/{path}"),
        ),
    ),
    rule(
        "blob-container",
        type="azure_blob_container",
        namespace=_BLOB,
        path="",
        to=_BLOB_NAME,
        because="Purview's scan of Blob Storage names containers so",
        also=(AlternateName(type="azure_datalake_gen2_filesystem", to=_LAKE_NAME),),
    ),
    rule(
        "blob-path",
        type="azure_blob_path",
        namespace=_BLOB,
        path="(?P<path>.+)",
        to=_BLOB_NAME + "/{path}",
        because="Purview's scan of Blob Storage names files and folders so",
        also=(
            AlternateName(type="azure_blob_resource_set", to=_BLOB_NAME + _RESOURCE_SET),
            AlternateName(type="azure_datalake_gen2_path", to=_LAKE_NAME + "/{path}"),
        ),
    ),
)

_MANAGED = replace(
    _AZURE[1],
    name="adls-managed-table",
    path=re.compile(rf"(?P<path>(?:.+/)?tables/{UUID})", re.DOTALL),
    because="the folder of a managed table of Unity Catalog, which nobody reads by its path",
    decides=False,
)

_IN_AZURE = re.compile(rf"[^@/]+@{_ACCOUNT}\.(?:dfs|blob)\.{_CLOUDS}/?")
_IN_LAKE = re.compile(rf"[^@/]+@{_ACCOUNT}\.dfs\.{_CLOUDS}/?")
_AS_BLOB = re.compile(rf"([^@/]+@{_ACCOUNT})\.blob\.({_CLOUDS})")
_WITHOUT_HOST = re.compile(r"[^@/]+@[^@./]+")


def _lake(location: str, name: str) -> tuple[str, str]:
    return _AS_BLOB.sub(r"\1.dfs.\2", location.rstrip("/").lower()), path_folded(name)


def _blob(location: str, name: str) -> tuple[str, str]:
    account, path = as_path(location, name)
    return f"{account}.blob.core.windows.net" if _WITHOUT_HOST.fullmatch(account) else account, path


# --- Fabric's OneLake: tables of lakehouses and warehouses, and the files beside them. They are named by ids, see
# `databases`. Hosts of regions and of single workspaces are OneLake too.

_WORKSPACE = r"abfss://(?P<workspace>[^@/]+)@onelake\.dfs\.fabric\.microsoft\.com"
_LAKEHOUSE = r"(?P<lakehouse>[^/.]+)(?:\.Lakehouse)?/Tables/"
_SCHEMA_TABLE = "(?P<schema>[^/]+)/(?P<table>[^/]+)"

_ONELAKE: tuple[NamingRule, ...] = (
    rule(
        "onelake-warehouse-table",
        type=WAREHOUSE_TABLE,
        namespace=_WORKSPACE,
        path=r"(?P<warehouse>[^/.]+)\.Warehouse/Tables/" + _SCHEMA_TABLE,
        to=WAREHOUSE_NAME,
        because=NO_WAREHOUSE_SCAN,
        ids=WAREHOUSE_IDS,
    ),
    rule(
        "onelake-warehouse-table-by-id",
        type=WAREHOUSE_TABLE,
        namespace=_WORKSPACE,
        path="(?P<warehouse>[^/.]+)/Tables/" + _SCHEMA_TABLE,
        to=WAREHOUSE_NAME,
        because=NO_WAREHOUSE_SCAN,
        ids=WAREHOUSE_IDS,
        by_id=True,
    ),
    rule(
        "onelake-table",
        type=LAKEHOUSE_TABLE,
        namespace=_WORKSPACE,
        path=_LAKEHOUSE + "(?P<table>[^/]+)",
        to=LAKEHOUSE_NAME + "{table}",
        because=LAKEHOUSE_SCAN,
        ids=LAKEHOUSE_IDS,
    ),
    rule(
        "onelake-schema-table",
        type=LAKEHOUSE_TABLE,
        namespace=_WORKSPACE,
        path=_LAKEHOUSE + _SCHEMA_TABLE,
        to=LAKEHOUSE_NAME + "{schema}%252F{table}",
        because=LAKEHOUSE_SCAN + "; this one has schemas",
        ids=LAKEHOUSE_IDS,
    ),
    rule(
        "onelake-path",
        type="azure_datalake_gen2_path",
        namespace=_WORKSPACE,
        path="(?P<path>.*)",
        to="https://onelake.dfs.fabric.microsoft.com/{workspace}/{path}",
        because="OneLake answers as an ADLS Gen2 account; no scan is known to name its files",
    ),
)

_HOST = r"(?:[a-z0-9-]+-)?onelake\.(?:dfs|blob)\.fabric\.microsoft\.com"
_OWN_HOST = r"[0-9a-f-]+\.z[0-9a-f]{2}\.(?:onelake|dfs|blob)\.fabric\.microsoft\.com"
_IN_ONELAKE = re.compile(rf"[^@/]+@(?:{_HOST}|{_OWN_HOST})/?")
_ITEM = re.compile(r"\A([^/.]+\.)(lakehouse|warehouse)(?=/|\Z)", re.IGNORECASE)


def _one_lake(location: str, name: str) -> tuple[str, str]:
    path = _ITEM.sub(lambda item: item[1] + item[2].capitalize(), path_folded(name))
    return f"{workspace_folded(location.partition('@')[0])}@onelake.dfs.fabric.microsoft.com", path


# --- all others

_GEN1_NAME = "adl://{account}/{path}"
_LOCAL = "local files, which no scan finds: Atlas' file system path"
_HDFS = "Atlas' type for HDFS; not verified that a scan names it so"
_DATABRICKS_TABLE = r"user/hive/warehouse/(?:(?P<database>[^/]+)\.db/)?(?P<table>[^/]+)"
_DATABRICKS_SCAN = "Purview's scan of a Databricks workspace's Hive metastore names its tables so"
_DATABRICKS_FILES = "each workspace has its own file system, which no scan finds"
_ANY_PATH = "(?P<path>.*)"

_GEN1 = rule(
    "adl-path",
    type="azure_datalake_gen1_path",
    namespace=r"adl://(?P<account>[^/]+\.azuredatalakestore\.net)",
    path=_ANY_PATH,
    to=_GEN1_NAME,
    because="Purview's scan of ADLS Gen1 names files and folders so",
    also=(AlternateName(type="azure_datalake_gen1_resource_set", to=_GEN1_NAME + "/{{SparkPartitions}}"),),
)
_LOCAL_FILES: tuple[NamingRule, ...] = (
    rule("local-path", type="fs_path", namespace="file", path=_ANY_PATH, to="file://{path}", because=_LOCAL),
    rule(
        "host-path",
        type="fs_path",
        namespace="(?P<host>file://.+)",
        path=_ANY_PATH,
        to="{host}/{path}",
        because=_LOCAL,
    ),
)
# Mounted paths are named by their source before any rule applies. OpenLineage's naming page puts the workspace into the
# namespace, its listener does not.
_DATABRICKS: tuple[NamingRule, ...] = (
    rule(
        "dbfs-hive-table",
        type="hive_table",
        namespace="dbfs",
        path="/" + _DATABRICKS_TABLE,
        to="{database}.{table}@{workspace}",
        because=_DATABRICKS_SCAN,
        defaults=(("database", "default"),),
    ),
    rule(
        "dbfs-hive-table-of-namespace",
        type="hive_table",
        namespace="dbfs://(?P<workspace>[^/]+)",
        path=_DATABRICKS_TABLE,
        to="{database}.{table}@{workspace}",
        because=_DATABRICKS_SCAN,
        defaults=(("database", "default"),),
    ),
    rule(
        "dbfs-path-of-namespace",
        type=GENERIC,
        namespace="dbfs://(?P<workspace>[^/]+)",
        path=_ANY_PATH,
        to="dbfs://{workspace}/{path}",
        because=_DATABRICKS_FILES,
        decides=False,
    ),
    rule(
        "dbfs-path-of-workspace",
        type=GENERIC,
        namespace="dbfs",
        path=_ANY_PATH,
        to="dbfs://{workspace}{path}",
        because=_DATABRICKS_FILES,
        decides=False,
    ),
    rule(
        "dbfs-path",
        type=GENERIC,
        namespace="dbfs",
        path=_ANY_PATH,
        to="dbfs{path}",
        because="no scan finds it, and the run's workspace is unknown",
        decides=False,
    ),
)
_HADOOP: tuple[NamingRule, ...] = (
    rule(
        "hdfs-path",
        type="hdfs_path",
        namespace="hdfs://(?P<cluster>.+)",
        path=_ANY_PATH,
        to="hdfs://{cluster}/{path}",
        because=_HDFS,
        decides=False,
    ),
    rule(
        "hdfs-path-of-default-cluster",
        type="hdfs_path",
        namespace="hdfs",
        path=_ANY_PATH,
        to="hdfs://{path}",
        because=_HDFS,
        decides=False,
    ),
)
_S3 = rule(
    "s3-path",
    type="aws_s3_v2_directory",
    namespace="s3://(?P<bucket>.+)",
    path=_ANY_PATH,
    to="s3://{bucket}/{path}",
    because="Purview's type for folders in S3; not verified that a scan names them so",
    decides=False,
    also=(AlternateName(type="aws_s3_v2_resource_set", to="s3://{bucket}/{path}/{{SparkPartitions}}"),),
)
_GOOGLE = rule(
    "gcs-path",
    type=GENERIC,
    namespace="gs://(?P<bucket>.+)",
    path=_ANY_PATH,
    to="gs://{bucket}/{path}",
    because="no scan of Google Cloud Storage is documented",
    decides=False,
)
_OTHER = rule(
    "file-system-path",
    type=GENERIC,
    namespace="(?P<place>[^/]+://.+)",
    path=_ANY_PATH,
    to="{place}/{path}",
    because="a file system that no scan is known to find",
    decides=False,
)
_OTHER_SCHEMES = (
    "viewfs", "webhdfs", "swebhdfs", "ofs", "o3fs", "har", "maprfs", "alluxio", "gvfs", "oss", "cosn", "obs", "swift",
    "ftp", "sftp",
)  # fmt: skip
"""File systems that Spark reaches by Hadoop's connectors. A family of its own for one of them comes first."""


def _without_user(location: str, name: str) -> tuple[str, str]:
    """Normalise bucket and path. Mounts of old notebooks have an access key before the bucket's name: it is removed."""
    authority, slash, behind = location.partition("/")
    return as_path(authority.rpartition("@")[2] + slash + behind, name)


def _family(
    *schemes: str,
    rules: tuple[NamingRule, ...] = (),
    fold: Fold = as_path,
    authority: re.Pattern[str] | None = None,
    fallback: bool = False,
) -> StoreFamily:
    return StoreFamily(schemes=schemes, rules=rules, fold=fold, authority=authority, has_paths=True, fallback=fallback)


STORES: tuple[StoreFamily, ...] = (
    _family("abfss", "abfs", authority=_IN_ONELAKE, fold=_one_lake, rules=_ONELAKE),
    _family("abfss", "abfs", authority=_IN_AZURE, fold=_lake, rules=(_MANAGED, *_AZURE[:2])),
    _family("abfss", "wasbs", "wasb", authority=_IN_LAKE, fold=_lake, rules=_AZURE[:2]),
    _family("abfss", "abfs"),  # hosts outside Azure
    _family("wasbs", "wasb", fold=_blob, rules=_AZURE[2:]),
    _family("adl", rules=(_GEN1,)),
    _family("file", rules=_LOCAL_FILES),
    _family("dbfs", rules=_DATABRICKS),
    _family("hdfs", rules=_HADOOP),
    _family("s3", "s3a", "s3n", fold=_without_user, rules=(_S3,)),
    _family("gs", rules=(_GOOGLE,)),
    *(_family(scheme, rules=(_OTHER,), fallback=True) for scheme in _OTHER_SCHEMES),
)
