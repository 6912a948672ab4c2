"""A catalog filled by scans: data sets by their names in events, and the assets that scans create for them.

The forms are from Purview's documentation and public typedefs; see `shared/naming/matching.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from shared.atlas.entities import AssetEntity
from shared.catalog.port import AssetKey
from shared.naming.names import Names
from shared.naming.user_rules import parse_names

NAMES: Names = parse_names(
    """
[fabric.workspaces.sales]
id = "0f3b8a52-64c1-4a0b-9d8e-2f6f2a0c7b11"
lakehouses = { shop = "9d2c4e10-1111-4222-8333-444455556666" }
warehouses = { dw = "7b1e0c2d-1111-4222-8333-444455556666" }
endpoint = "k3xyz.datawarehouse.fabric.microsoft.com"
[databricks.metastores]
"adb-1.2.azuredatabricks.net" = "5c5d0000-0000-4000-8000-000000000000"
""",
    "names.toml",
)
WORKSPACE = "adb-1.2.azuredatabricks.net"
_LAKE, _BLOB = "https://acct.dfs.core.windows.net/raw", "https://acct.blob.core.windows.net/raw"
_GROUP = "https://app.fabric.microsoft.com/groups/0f3b8a52-64c1-4a0b-9d8e-2f6f2a0c7b11"
_SHOP = f"{_GROUP}/lakehouses/9d2c4e10-1111-4222-8333-444455556666/tables"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """A data set by its names in events (with its table names), and the asset that a scan creates for it."""

    form: str
    namespace: str
    name: str
    asset: AssetKey
    symlink: tuple[str, str] | None = None

    @property
    def entity(self) -> AssetEntity:
        """The entity in the form of a scan."""
        kind, qualified_name = self.asset
        attributes = {"name": qualified_name.rstrip("/").rsplit("/", 1)[-1], "description": "Found by a scan."}
        if kind == "azure_cosmosdb_sqlapi_collection":
            attributes["resourceLink"] = qualified_name
        return AssetEntity(type=kind, qualified_name=qualified_name, attributes=tuple(attributes.items()))


FORMS: dict[str, tuple[str, str, str, str]] = {
    # namespace and name in events, type and qualified name of the scanned asset; {n} is a number, {t} a table name
    "lake folder": (
        "abfss://raw@acct.dfs.core.windows.net",
        "a{n}/{t}",
        "azure_datalake_gen2_path",
        _LAKE + "/a{n}/{t}",
    ),
    "lake folder with a slash": (
        "abfss://raw@acct.dfs.core.windows.net",
        "b{n}/{t}/day=1",
        "azure_datalake_gen2_path",
        _LAKE + "/b{n}/{t}/",
    ),
    "lake resource set": (
        "abfss://raw@acct.dfs.core.windows.net",
        "c{n}/{t}",
        "azure_datalake_gen2_resource_set",
        _LAKE + "/c{n}/{t}/{{SparkPartitions}}",
    ),
    "resource set of days": (
        "abfss://raw@acct.dfs.core.windows.net",
        "d{n}/{t}/2024/05/01",
        "azure_datalake_gen2_resource_set",
        _LAKE + "/d{n}/{t}/{{Year}}/{{Month}}/{{Day}}/{{SparkPartitions}}.parquet",
    ),
    "resource set of numbers": (
        "abfss://raw@acct.dfs.core.windows.net",
        "e{n}/7/{t}",
        "azure_datalake_gen2_resource_set",
        _LAKE + "/e{n}/{{N}}/{t}/{{SparkPartitions}}",
    ),
    "other capitals in the lake": (
        "abfss://raw@acct.dfs.core.windows.net",
        "f{n}/{t}",
        "azure_datalake_gen2_path",
        _LAKE + "/F{n}/{T}/",
    ),
    "lake scanned as blobs": (
        "abfss://raw@acct.dfs.core.windows.net",
        "g{n}/{t}",
        "azure_blob_path",
        _BLOB + "/g{n}/{t}",
    ),
    "blobs": (
        "wasbs://raw@acct.blob.core.windows.net",
        "h{n}/{t}",
        "azure_blob_resource_set",
        _BLOB + "/h{n}/{t}/{{SparkPartitions}}",
    ),
    "blobs scanned as a lake": (
        "wasbs://raw@acct.blob.core.windows.net",
        "i{n}/{t}",
        "azure_datalake_gen2_path",
        _LAKE + "/i{n}/{t}/",
    ),
    "file system": (
        "abfss://fs{n}@acct.dfs.core.windows.net",
        "/",
        "azure_datalake_gen2_filesystem",
        "https://acct.dfs.core.windows.net/fs{n}",
    ),
    "Azure SQL with brackets": (
        "sqlserver://srv.database.windows.net:1433;database=db{n}",
        "[dbo].[{t}]",
        "azure_sql_table",
        "mssql://srv.database.windows.net/db{n}/dbo/{t}",
    ),
    "Azure SQL, other capitals": (
        "sqlserver://srv.database.windows.net:1433",
        "cap{n}.dbo.{t}",
        "azure_sql_table",
        "mssql://srv.database.windows.net/Cap{n}/dbo/{T}",
    ),
    "Azure SQL view": (
        "sqlserver://srv.database.windows.net:1433",
        "v{n}.dbo.{t}",
        "azure_sql_view",
        "mssql://srv.database.windows.net/v{n}/dbo/{t}",
    ),
    "managed instance": (
        "sqlserver://mi.z1.database.windows.net:1433",
        "db{n}.dbo.{t}",
        "azure_sql_mi_table",
        "mssql://mi.z1.database.windows.net/db{n}/dbo/{t}",
    ),
    "SQL Server": ("sqlserver://box{n}:1433", "db.dbo.{t}", "mssql_table", "mssql://box{n}/MSSQLSERVER/db/dbo/{t}"),
    "SQL Server without an instance": (
        "sqlserver://bare{n}:1433",
        "db.dbo.{t}",
        "mssql_table",
        "mssql://bare{n}/db/dbo/{t}",
    ),
    "Synapse dedicated": (
        "sqlserver://ws.sql.azuresynapse.net:1433",
        "pool{n}.dbo.{t}",
        "azure_synapse_dedicated_sql_table",
        "mssql://ws.sql.azuresynapse.net/pool{n}/dbo/{t}",
    ),
    "Synapse serverless": (
        "sqlserver://ws-ondemand.sql.azuresynapse.net:1433",
        "db{n}.dbo.{t}",
        "azure_synapse_serverless_sql_table",
        "mssql://ws-ondemand.sql.azuresynapse.net/db{n}/dbo/{t}",
    ),
    "Hive of Databricks": ("dbfs", "/user/hive/warehouse/db{n}.db/{t}", "hive_table", "db{n}.{t}@" + WORKSPACE),
    "Fabric lakehouse": (
        "abfss://sales@onelake.dfs.fabric.microsoft.com",
        "shop.Lakehouse/Tables/{t}{n}",
        "fabric_lakehouse_table",
        _SHOP + "/{t}{n}",
    ),
    "Fabric lakehouse with schemas": (
        "abfss://sales@onelake.dfs.fabric.microsoft.com",
        "shop.Lakehouse/Tables/dbo/{t}{n}",
        "fabric_lakehouse_table",
        _SHOP + "/dbo%252F{t}{n}",
    ),
    "Fabric warehouse": (
        "fabric-warehouse://k3xyz.datawarehouse.fabric.microsoft.com",
        "dw.dbo.{t}{n}",
        "fabric_warehouse_table",
        _GROUP + "/warehouses/7b1e0c2d-1111-4222-8333-444455556666/schemas/dbo/tables/{t}{n}",
    ),
    "Cosmos DB": (
        "azurecosmos://c.documents.azure.com/dbs/db{n}",
        "colls/{t}",
        "azure_cosmosdb_sqlapi_collection",
        "https://c.documents.azure.com/dbs/db{n}/colls/{t}",
    ),
    "Data Explorer": (
        "azurekusto://cl.westeurope.kusto.windows.net/db{n}",
        "{t}",
        "azure_data_explorer_table",
        "https://cl.westeurope.kusto.windows.net/db{n}/{t}",
    ),
    "Azure PostgreSQL": (
        "postgres://p.postgres.database.azure.com:5432",
        "db{n}.public.{t}",
        "azure_postgresql_table",
        "postgresql://p.postgres.database.azure.com/db{n}/public/{t}",
    ),
    "PostgreSQL": (
        "postgres://own:5432",
        "db{n}.public.{t}",
        "postgresql_table",
        "postgresql://servers/own:5432/dbs/db{n}/schemas/public/tables/{t}",
    ),
    "Azure MySQL": (
        "mysql://m.mysql.database.azure.com:3306",
        "db{n}.{t}",
        "azure_mysql_table",
        "mysql://m.mysql.database.azure.com/db{n}/{t}",
    ),
    "Snowflake": (
        "snowflake://org-acc",
        "DB{n}.PUBLIC.{t}",
        "snowflake_table",
        "snowflake://org-acc.snowflakecomputing.com/databases/DB{n}/schemas/PUBLIC/tables/{t}",
    ),
    "Oracle": ("oracle://ora:1521", "svc.S{n}.{t}", "oracle_table", "oracle://ora/S{n}/{t}"),
    "BigQuery": ("bigquery", "proj.ds{n}.{t}", "bigquery_table", "bigquery://proj/ds{n}/{t}"),
}

_SYMLINKED: dict[str, tuple[str, str, str, str]] = {
    # a location that scans do not find; the symlink's namespace and name, type and qualified name
    "Unity Catalog": (
        "unity-catalog",
        "main.s{n}.{t}",
        "databricks_table",
        "databricks://5c5d0000-0000-4000-8000-000000000000/catalogs/main/schemas/s{n}/tables/{t}",
    ),
    "Hive metastore": ("hive://ms:9083", "s{n}.{t}", "hive_table", "s{n}.{t}@ms"),
}


def scanned(number: int) -> Iterator[Scanned]:
    """Return `number` data sets, cycling through all forms."""
    made_count = 0
    for n in range(number):
        values = {"n": n, "t": f"orders{n}", "T": f"Orders{n}"}
        for form, texts in {**FORMS, **_SYMLINKED}.items():
            if made_count == number:
                return
            namespace, name, kind, qualified_name = (text.format(**values) for text in texts)
            made_count += 1
            if form in FORMS:
                yield Scanned(form=form, namespace=namespace, name=name, asset=(kind, qualified_name))
            else:
                yield Scanned(
                    form=form,
                    namespace="abfss://lake@acct.dfs.core.windows.net",
                    name=f"{form[:4]}{n}/data",
                    asset=(kind, qualified_name),
                    symlink=(namespace, name),
                )
