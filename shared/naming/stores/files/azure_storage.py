"""Azure Data Lake Storage Gen2 and Blob Storage, in all clouds, as Purview's scans name them.

`abfss` and `wasbs` paths of one account stay two data sets, each with the other's name as alternative: which of them a
scan finds depends on how the account is registered.
"""

import re

from shared.naming.rules.normalization import path_folded
from shared.naming.rules.rule import AlternateName, NamingRule, rule
from shared.naming.rules.store import StoreFamily, as_path

_CLOUDS = r"(?:core\.(?:windows\.net|chinacloudapi\.cn|usgovcloudapi\.net|cloudapi\.de)|storage\.azure\.net)"
_DATA_LAKE = rf"abfss://(?P<container>[^@/]+)@(?P<account>[^./]+(?:\.z\d+)?)\.dfs\.(?P<cloud>{_CLOUDS})"
_BLOB = rf"wasbs://(?P<container>[^@/]+)@(?P<account>[^./]+(?:\.z\d+)?)\.blob\.(?P<cloud>{_CLOUDS})"
_LAKE_NAME = "https://{account}.dfs.{cloud}/{container}"
_BLOB_NAME = "https://{account}.blob.{cloud}/{container}"
_AS_BLOB = re.compile(rf"([^@/]+@[^./]+(?:\.z\d+)?)\.blob\.({_CLOUDS})")

PATH_RULES: tuple[NamingRule, ...] = (
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
            AlternateName(type="azure_datalake_gen2_resource_set", to=_LAKE_NAME + "/{path}/{{SparkPartitions}}"),
            AlternateName(type="azure_blob_path", to=_BLOB_NAME + "/{path}"),
        ),
    ),
)

BLOB_RULES: tuple[NamingRule, ...] = (
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
            AlternateName(type="azure_blob_resource_set", to=_BLOB_NAME + "/{path}/{{SparkPartitions}}"),
            AlternateName(type="azure_datalake_gen2_path", to=_LAKE_NAME + "/{path}"),
        ),
    ),
)


def _lake(rest: str, name: str) -> tuple[str, str]:
    """Normalise a lake path; under `abfss` the account's blob host is the same lake."""
    return _AS_BLOB.sub(r"\1.dfs.\2", rest.rstrip("/").lower()), path_folded(name)


STORES: tuple[StoreFamily, ...] = (
    StoreFamily(
        schemes=("abfss", "abfs"),
        authority=re.compile(rf"[^@/]+@[^./]+(?:\.z\d+)?\.(?:dfs|blob)\.{_CLOUDS}/?"),
        fold=_lake,
        rules=PATH_RULES,
        has_paths=True,
    ),
    StoreFamily(schemes=("abfss", "abfs"), fold=as_path, has_paths=True),  # hosts outside Azure
    StoreFamily(schemes=("wasbs", "wasb"), fold=as_path, rules=BLOB_RULES, has_paths=True),
)
