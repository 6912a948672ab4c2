"""Azure Data Lake Storage Gen2 and Blob Storage, as Purview's scans name them."""

from shared.naming.rules import Rule, rule

_DATA_LAKE = r"abfss://(?P<container>[^@/]+)@(?P<account>[^./]+)\.(?:dfs|blob)\.core\.windows\.net"
_BLOB = r"wasbs://(?P<container>[^@/]+)@(?P<account>[^./]+)\.blob\.core\.windows\.net"

RULES: tuple[Rule, ...] = (
    rule(
        "adls-filesystem",
        type="azure_datalake_gen2_filesystem",
        namespace=_DATA_LAKE,
        path="",
        to="https://{account}.dfs.core.windows.net/{container}",
    ),
    rule(
        "adls-path",
        type="azure_datalake_gen2_path",
        namespace=_DATA_LAKE,
        path="(?P<path>.+)",
        to="https://{account}.dfs.core.windows.net/{container}/{path}",
    ),
    rule(
        "blob-container",
        type="azure_blob_container",
        namespace=_BLOB,
        path="",
        to="https://{account}.blob.core.windows.net/{container}",
    ),
    rule(
        "blob-path",
        type="azure_blob_path",
        namespace=_BLOB,
        path="(?P<path>.+)",
        to="https://{account}.blob.core.windows.net/{container}/{path}",
    ),
)
