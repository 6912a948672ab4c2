"""Naming: every store as the listeners spell it and as the catalog calls it, and the handling of hostile names.

The spellings of databases and of paths are those that listeners 1.12, 1.25 and 1.53 gave when they were run.
"""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.naming.names import BUILT_IN, RULES, canonical, explain
from shared.naming.stores.families import NO_ENVIRONMENT, RunEnvironment
from shared.naming.stores.services import split_names
from tests.support.naming_cases import Case
from tests.support.naming_specification import SPECIFICATION

LAKE = "abfss://lake@contoso.dfs.core.windows.net"
BLOB = "wasbs://landing@contoso.blob.core.windows.net"
ONELAKE = "abfss://sales@onelake.dfs.fabric.microsoft.com"
FABRIC = "https://app.fabric.microsoft.com/groups"
WORKSPACE, LAKEHOUSE = "0f3b8a52-64c1-4a0b-9d8e-2f6f2a0c7b11", "9d2c4e10-1111-4222-8333-444455556666"
BY_ID = f"abfss://{WORKSPACE}@onelake.dfs.fabric.microsoft.com"
MANAGED = "74/__unitystorage/catalogs/3d92ab1b-0000-4000-8000-77c689e76698/tables/5cd1b0de-0000-4000-8000-7cba2aaa49fd"
DATABRICKS = RunEnvironment(
    workspace="adb-1.2.azuredatabricks.net",
    mounts=(
        ("/", "DatabricksRoot"),
        ("/databricks-datasets", "databricks-datasets"),
        ("/mnt/lake", f"{LAKE}/"),
        ("/mnt/lake/inner", "wasbs://landing@contoso.blob.core.windows.net/deep"),
        ("/mnt/gen1/", "adl://contoso.azuredatalakestore.net/base"),
        ("/mnt/s3", "s3a://KEY:SECRET@bucket/dir"),
    ),
)
AZURE_SQL = "sqlserver://srv.database.windows.net:1433"


CASES: dict[str, Case] = {
    # --- files on Azure
    "lake": Case(
        rule="adls-path",
        type="azure_datalake_gen2_path",
        to="https://contoso.dfs.core.windows.net/lake/raw/orders",
        spellings=(
            (LAKE, "raw/orders"),
            (LAKE, "/raw/orders"),
            ("abfs://lake@contoso.dfs.core.windows.net", "/raw/orders/"),
            ("ABFSS://Lake@Contoso.DFS.core.windows.net/", "raw//orders"),
            ("abfss://lake@contoso.blob.core.windows.net", "raw/orders"),
            (LAKE, "/raw/orders/year=2024/month=05/part-00000-a.c000.parquet"),
            (LAKE, "raw/orders/2024/05/01"),
        ),
    ),
    "lake, its file system": Case(
        rule="adls-filesystem",
        type="azure_datalake_gen2_filesystem",
        to="https://contoso.dfs.core.windows.net/lake",
        spellings=((LAKE, ""), (LAKE, "/"), ("abfs://lake@contoso.blob.core.windows.net", "/")),
    ),
    "lake in China": Case(
        rule="adls-path",
        type="azure_datalake_gen2_path",
        to="https://contoso.dfs.core.chinacloudapi.cn/lake/t",
        spellings=(
            ("abfss://lake@contoso.dfs.core.chinacloudapi.cn", "t"),
            ("abfs://lake@contoso.blob.core.chinacloudapi.cn", "/t"),
        ),
    ),
    "lake of a government": Case(
        rule="adls-path",
        type="azure_datalake_gen2_path",
        to="https://contoso.dfs.core.usgovcloudapi.net/lake/t",
        spellings=(("abfss://lake@contoso.dfs.core.usgovcloudapi.net", "t"),),
    ),
    "lake in a zone of its own": Case(
        rule="adls-path",
        type="azure_datalake_gen2_path",
        to="https://contoso.z12.dfs.storage.azure.net/lake/t",
        spellings=(("abfss://lake@contoso.z12.dfs.storage.azure.net", "t"),),
    ),
    "blanks, unicode, percent signs": Case(
        rule="adls-path",
        type="azure_datalake_gen2_path",
        to="https://contoso.dfs.core.windows.net/lake/test zone/Straße/100%/日本",
        spellings=((LAKE, "test zone/Straße/100%/日本"),),
    ),
    "control characters": Case(
        rule="adls-path",
        type="azure_datalake_gen2_path",
        to="https://contoso.dfs.core.windows.net/lake/a%0Ab%00c%7F",
        spellings=((LAKE, "a\nb\x00c\x7f"),),
    ),
    "blob": Case(
        rule="blob-path",
        type="azure_blob_path",
        to="https://contoso.blob.core.windows.net/landing/export/orders",
        spellings=((BLOB, "export/orders"), ("wasb://landing@contoso.blob.core.windows.net", "/export/orders")),
    ),
    "blob, as Airflow writes it": Case(
        rule="blob-path",
        type="azure_blob_path",
        to="https://contoso.blob.core.windows.net/landing/export/orders",
        spellings=((BLOB, "export/orders"), ("wasbs://landing@contoso", "export/orders")),
    ),
    "lake, as the specification writes Blob Storage": Case(
        rule="adls-filesystem",
        type="azure_datalake_gen2_filesystem",
        to="https://contoso.dfs.core.windows.net/lake",
        spellings=((LAKE, ""), ("wasb://lake@contoso.dfs.core.windows.net/", "/")),
    ),
    "lake, a managed table whose name is not known": Case(
        rule="adls-managed-table",
        type="azure_datalake_gen2_path",
        to=f"https://contoso.dfs.core.windows.net/lake/{MANAGED}",
        spellings=((LAKE, MANAGED), ("abfs://lake@contoso.dfs.core.windows.net", f"/{MANAGED}/day=1")),
    ),
    "blob, its container": Case(
        rule="blob-container",
        type="azure_blob_container",
        to="https://contoso.blob.core.windows.net/landing",
        spellings=((BLOB, ""), (BLOB, "/")),
    ),
    "blob in China": Case(
        rule="blob-path",
        type="azure_blob_path",
        to="https://contoso.blob.core.chinacloudapi.cn/c/p",
        spellings=(("wasbs://c@contoso.blob.core.chinacloudapi.cn", "p"),),
    ),
    "first lake": Case(
        rule="adl-path",
        type="azure_datalake_gen1_path",
        to="adl://contoso.azuredatalakestore.net/raw/t",
        spellings=(
            ("adl://contoso.azuredatalakestore.net", "/raw/t"),
            ("adl://Contoso.azuredatalakestore.net/", "raw/t/day=1"),
        ),
    ),
    "unknown account": Case(
        rule="unknown-store",
        type="DataSet",
        to="abfss://c@minio.local/t",
        spellings=(("abfss://c@minio.local", "/t"), ("abfs://c@minio.local", "t/k=v")),
    ),
    # --- Fabric
    "lakehouse table by names": Case(
        rule="onelake-table",
        type="fabric_lakehouse_table",
        to=f"{FABRIC}/sales/lakehouses/shop/tables/orders",
        spellings=(
            (ONELAKE, "shop.Lakehouse/Tables/orders"),
            ("abfs://Sales@westeurope-onelake.dfs.fabric.microsoft.com", "/shop.lakehouse/Tables/orders/day=1"),
            ("abfss://sales@onelake.blob.fabric.microsoft.com", "shop.Lakehouse/Tables/orders"),
        ),
    ),
    "lakehouse table by ids": Case(
        rule="onelake-table",
        type="fabric_lakehouse_table",
        to=f"{FABRIC}/{WORKSPACE}/lakehouses/{LAKEHOUSE}/tables/orders",
        spellings=(
            (BY_ID, f"{LAKEHOUSE}/Tables/orders"),
            (
                f"abfss://{WORKSPACE}@{WORKSPACE.replace('-', '')}.z0f.dfs.fabric.microsoft.com",
                f"{LAKEHOUSE}/Tables/orders",
            ),
        ),
    ),
    "lakehouse table in a schema": Case(
        rule="onelake-schema-table",
        type="fabric_lakehouse_table",
        to=f"{FABRIC}/{WORKSPACE}/lakehouses/{LAKEHOUSE}/tables/dbo%252Forders",
        spellings=((BY_ID, f"{LAKEHOUSE}/Tables/dbo/orders"),),
    ),
    "lakehouse files": Case(
        rule="onelake-path",
        type="azure_datalake_gen2_path",
        to="https://onelake.dfs.fabric.microsoft.com/sales/shop.Lakehouse/Files/in/a b.csv",
        spellings=((ONELAKE, "shop.Lakehouse/Files/in/a b.csv"),),
    ),
    "warehouse table by names": Case(
        rule="onelake-warehouse-table",
        type="fabric_warehouse_table",
        to=f"{FABRIC}/sales/warehouses/dw/schemas/dbo/tables/t",
        spellings=((ONELAKE, "dw.Warehouse/Tables/dbo/t"), (ONELAKE, "/dw.warehouse/Tables/dbo/t/part-00000")),
    ),
    # --- Databricks
    "mounted lake": Case(
        rule="adls-path",
        type="azure_datalake_gen2_path",
        to="https://contoso.dfs.core.windows.net/lake/raw/orders",
        environment=DATABRICKS,
        spellings=(
            ("dbfs", "/mnt/lake/raw/orders"),
            ("dbfs:", "/mnt/lake/raw/orders/day=1"),
            ("file", "/mnt/lake/raw/orders"),
            ("file", "/dbfs/mnt/lake/raw/orders"),
            (LAKE, "raw/orders"),
        ),
    ),
    "mounted lake, its root": Case(
        rule="adls-filesystem",
        type="azure_datalake_gen2_filesystem",
        to="https://contoso.dfs.core.windows.net/lake",
        environment=DATABRICKS,
        spellings=(("dbfs", "/mnt/lake"), ("dbfs", "/mnt/lake/")),
    ),
    "the longest mount": Case(
        rule="blob-path",
        type="azure_blob_path",
        to="https://contoso.blob.core.windows.net/landing/deep/t",
        environment=DATABRICKS,
        spellings=(("dbfs", "/mnt/lake/inner/t"),),
    ),
    "mounted first lake": Case(
        rule="adl-path",
        type="azure_datalake_gen1_path",
        to="adl://contoso.azuredatalakestore.net/base/t",
        environment=DATABRICKS,
        spellings=(("dbfs", "/mnt/gen1/t"),),
    ),
    "mounted bucket, without its key": Case(
        rule="s3-path",
        type="aws_s3_v2_directory",
        to="s3://bucket/dir/t",
        environment=DATABRICKS,
        spellings=(("dbfs", "/mnt/s3/t"), ("s3a://bucket", "dir/t"), ("s3a://KEY:SECRET@bucket", "dir/t")),
    ),
    "a folder that only begins like a mount": Case(
        rule="dbfs-path-of-workspace",
        type="DataSet",
        to="dbfs://adb-1.2.azuredatabricks.net/mnt/lake2/t",
        environment=DATABRICKS,
        spellings=(("dbfs", "/mnt/lake2/t"), ("file", "/dbfs/mnt/lake2/t")),
    ),
    "a mount that has no address": Case(
        rule="dbfs-path-of-workspace",
        type="DataSet",
        to="dbfs://adb-1.2.azuredatabricks.net/databricks-datasets/t",
        environment=DATABRICKS,
        spellings=(("dbfs", "/databricks-datasets/t"),),
    ),
    "a driver's own file": Case(
        rule="local-path",
        type="fs_path",
        to="file:///local_disk0/t",
        environment=DATABRICKS,
        spellings=(("file", "/local_disk0/t"),),
    ),
    "managed table": Case(
        rule="dbfs-hive-table",
        type="hive_table",
        to="default.orders@adb-1.2.azuredatabricks.net",
        environment=DATABRICKS,
        spellings=(("dbfs", "/user/hive/warehouse/orders"), ("dbfs", "/user/hive/warehouse/orders/day=1")),
    ),
    "managed table of a database": Case(
        rule="dbfs-hive-table",
        type="hive_table",
        to="sales.orders@adb-1.2.azuredatabricks.net",
        environment=RunEnvironment(workspace="https://ADB-1.2.azuredatabricks.net/"),
        spellings=(("dbfs", "/user/hive/warehouse/sales.db/orders"),),
    ),
    "managed table of nobody knows whom": Case(
        rule="dbfs-path",
        type="DataSet",
        to="dbfs/user/hive/warehouse/orders",
        spellings=(("dbfs", "/user/hive/warehouse/orders"),),
    ),
    "a table that only a metastore knows": Case(
        rule="hive-table",
        type="hive_table",
        to="sales.orders@metastore",
        spellings=(("hive://metastore:9083", "sales.orders"), ("HIVE://Metastore:9083/", "/sales.orders")),
    ),
    "a table that only a workspace's metastore knows": Case(
        rule="hive-table-of-workspace",
        type="hive_table",
        to="sales.orders@adb-1.2.azuredatabricks.net",
        environment=DATABRICKS,
        spellings=(("hive://10.0.0.1:9083", "sales.orders"),),
    ),
    "Unity Catalog": Case(
        rule="unity-catalog-table",
        type="databricks_table",
        to="databricks://adb-1.2.azuredatabricks.net/catalogs/main/schemas/sales/tables/a.b",
        environment=DATABRICKS,
        spellings=(("unity-catalog", "main.sales.`a.b`"), ("unity-catalog", "main.sales.[a.b]")),
    ),
    "Unity Catalog, as dbt and Airflow write it": Case(
        rule="databricks-table",
        type="databricks_table",
        to="databricks://adb-1.2.azuredatabricks.net/catalogs/main/schemas/sales/tables/orders",
        spellings=(
            ("databricks://adb-1.2.azuredatabricks.net", "main.sales.orders"),
            ("databricks://ADB-1.2.azuredatabricks.net:443", "main.sales.`orders`"),
            ("databricks://https://adb-1.2.azuredatabricks.net/", "main.sales.orders"),
            ("spark://adb-1.2.azuredatabricks.net:443", "main.sales.orders"),
        ),
    ),
    "a workspace's Hive metastore, as dbt writes it": Case(
        rule="databricks-hive-table",
        type="hive_table",
        to="sales.orders@dbc-1a2b.cloud.databricks.com",
        spellings=(
            ("databricks://dbc-1a2b.cloud.databricks.com", "sales.orders"),
            ("databricks://dbc-1a2b.cloud.databricks.com", "hive_metastore.sales.orders"),
            ("spark://dbc-1a2b.cloud.databricks.com:443", "sales.orders"),
        ),
    ),
    "a workspace's Hive metastore, as Unity Catalog writes it": Case(
        rule="unity-catalog-hive-table",
        type="hive_table",
        to="sales.orders@adb-1.2.azuredatabricks.net",
        environment=DATABRICKS,
        spellings=(("unity-catalog", "hive_metastore.sales.orders"), ("unity-catalog", "spark_catalog.sales.orders")),
    ),
    "a table of a server of Spark": Case(
        rule="spark-name",
        type="DataSet",
        to="spark://thrift:10000/sales.orders",
        spellings=(("spark://thrift:10000", "sales.orders"), ("spark://Thrift:10000/", "`sales`.`orders`")),
    ),
    "DBFS of a workspace in the namespace": Case(
        rule="dbfs-hive-table-of-namespace",
        type="hive_table",
        to="sales.orders@adb-1.2.azuredatabricks.net",
        spellings=(("dbfs://adb-1.2.azuredatabricks.net", "/user/hive/warehouse/sales.db/orders"),),
    ),
    "Glue": Case(
        rule="glue-table",
        type="DataSet",
        to="arn:aws:glue:eu-west-1:1/table/shop/orders",
        spellings=(
            ("arn:aws:glue:eu-west-1:1", "table/shop/orders"),
            ("arn:aws:glue:eu-west-1:1", "shop.orders"),
            ("ARN:aws:glue:eu-west-1:1", "table/Shop/Orders"),
        ),
    ),
    "Amazon's buckets of tables": Case(
        rule="s3-tables-name",
        type="DataSet",
        to="arn:aws:s3tables:eu-west-1:1:bucket/b/shop.orders",
        spellings=(
            ("arn:aws:s3tables:eu-west-1:1:bucket/b", "one.shop.orders"),
            ("arn:aws:s3tables:eu-west-1:1:bucket/b", "another.shop.orders"),
        ),
    ),
    "Unity Catalog's own server": Case(
        rule="unity-catalog-server-table",
        type="databricks_table",
        to="databricks://uc.example/catalogs/main/schemas/sales/tables/t",
        spellings=(
            ("unitycatalog://uc.example:8080", "main.sales.t"),
            ("unitycatalog://UC.example:8080/", "main.sales.t"),
        ),
    ),
    "Iceberg's REST catalog": Case(
        rule="iceberg-rest-table",
        type="DataSet",
        to="http://rest:8181/iceberg/db.t",
        spellings=(("http://rest:8181/iceberg", "db.t"),),
    ),
    # --- other files
    "local folder": Case(
        rule="local-path",
        type="fs_path",
        to="file:///data/t",
        spellings=(("file", "/data/t"), ("file://", "/data/t/"), ("file:", "data/t"), ("file", "/data/t/20240501")),
    ),
    "local root": Case(rule="local-path", type="fs_path", to="file:///", spellings=(("file", "/"), ("file", ""))),
    "local file of another machine": Case(
        rule="host-path", type="fs_path", to="file://node1/data/t", spellings=(("file://Node1", "/data/t"),)
    ),
    "braces are no template": Case(
        rule="local-path", type="fs_path", to="file:///{path}/{0}", spellings=(("file", "/{path}/{0}"),)
    ),
    "HDFS": Case(
        rule="hdfs-path",
        type="hdfs_path",
        to="hdfs://nn:8020/a/b",
        spellings=(("hdfs://nn:8020", "/a/b"), ("HDFS://NN:8020/", "a/b/")),
    ),
    "HDFS of the default cluster": Case(
        rule="hdfs-path-of-default-cluster",
        type="hdfs_path",
        to="hdfs:///a/b",
        spellings=(("hdfs", "/a/b"), ("hdfs://", "a/b")),
    ),
    "S3": Case(
        rule="s3-path",
        type="aws_s3_v2_directory",
        to="s3://bucket/raw/t",
        spellings=(("s3://bucket", "raw/t"), ("s3a://bucket", "/raw/t/"), ("s3n://bucket", "raw/t/k=v")),
    ),
    "Google's storage": Case(
        rule="gcs-path",
        type="DataSet",
        to="gs://bucket/raw/t",
        spellings=(("gs://bucket", "raw/t"), ("gs://bucket", "/raw/t")),
    ),
    "another file system": Case(
        rule="file-system-path",
        type="DataSet",
        to="viewfs://cluster/a",
        spellings=(("viewfs://cluster", "/a"), ("viewfs://Cluster", "a/2024-05-01")),
    ),
    # --- SQL Server
    "Azure SQL": Case(
        rule="azure-sql-table",
        type="azure_sql_table",
        to="mssql://srv.database.windows.net/db/dbo/t",
        spellings=(
            (f"{AZURE_SQL};database=db;encrypt=true", "dbo.t"),
            (f"{AZURE_SQL};databaseName=db", "[dbo].[t]"),
            (f"{AZURE_SQL};database=db;", "t"),
            ("sqlserver://srv.database.windows.net;database=db", "t"),
            ("sqlserver://Srv.Database.windows.net;database=db", '"dbo"."t"'),
            (AZURE_SQL, "db.dbo.t"),
            (AZURE_SQL, "db.[dbo].[t]"),
            (AZURE_SQL, "db.t"),
            (AZURE_SQL, "db..t"),
            (AZURE_SQL, "linked.db.dbo.t"),
            ("sqlserver://srv.database.windows.net", "db.dbo.t"),
        ),
    ),
    "Azure SQL, points and blanks": Case(
        rule="azure-sql-table",
        type="azure_sql_table",
        to="mssql://srv.database.windows.net/My DB/my schema/a.b",
        spellings=(
            ("sqlserver://srv.database.windows.net;database=My DB", "[my schema].[a.b]"),
            (AZURE_SQL, "My DB.[my schema].[a.b]"),
            (AZURE_SQL, '"My DB"."my schema"."a.b"'),
        ),
    ),
    "Azure SQL, another schema": Case(
        rule="azure-sql-table",
        type="azure_sql_table",
        to="mssql://srv.database.windows.net/db/sales/t",
        spellings=((f"{AZURE_SQL};database=db", "sales.t"), (AZURE_SQL, "db.sales.t")),
    ),
    "Azure SQL in China": Case(
        rule="azure-sql-table",
        type="azure_sql_table",
        to="mssql://srv.database.chinacloudapi.cn/db/dbo/t",
        spellings=(("sqlserver://srv.database.chinacloudapi.cn:1433", "db.dbo.t"),),
    ),
    "Azure SQL of a government": Case(
        rule="azure-sql-table",
        type="azure_sql_table",
        to="mssql://srv.database.usgovcloudapi.net/db/dbo/t",
        spellings=(("sqlserver://srv.database.usgovcloudapi.net;database=db", "t"),),
    ),
    "Azure SQL, its database not given": Case(
        rule="sql-server-name",
        type="DataSet",
        to=f"{AZURE_SQL}/dbo.t",
        spellings=((AZURE_SQL, "dbo.t"), (AZURE_SQL, "t")),
    ),
    "Managed Instance": Case(
        rule="azure-sql-mi-table",
        type="azure_sql_mi_table",
        to="mssql://mi.1a2b.database.windows.net/db/dbo/t",
        spellings=(
            ("sqlserver://mi.1a2b.database.windows.net:1433", "db.dbo.t"),
            ("sqlserver://mi.public.1a2b.database.windows.net:3342;database=db", "dbo.t"),
        ),
    ),
    "Synapse, dedicated": Case(
        rule="synapse-dedicated-table",
        type="azure_synapse_dedicated_sql_table",
        to="mssql://ws.sql.azuresynapse.net/pool/dbo/t",
        spellings=(
            ("sqlserver://ws.sql.azuresynapse.net:1433;database=pool;", "t"),
            ("sqlserver://ws.sql.azuresynapse.net:1433", "pool.dbo.t"),
        ),
    ),
    "Synapse, serverless": Case(
        rule="synapse-serverless-table",
        type="azure_synapse_serverless_sql_table",
        to="mssql://ws-ondemand.sql.azuresynapse.net/db/dbo/t",
        spellings=(("sqlserver://ws-ondemand.sql.azuresynapse.net:1433", "db.dbo.t"),),
    ),
    "Synapse in China": Case(
        rule="synapse-dedicated-table",
        type="azure_synapse_dedicated_sql_table",
        to="mssql://ws.sql.azuresynapse.azure.cn/pool/dbo/t",
        spellings=(("sqlserver://ws.sql.azuresynapse.azure.cn:1433", "pool.dbo.t"),),
    ),
    "SQL Server": Case(
        rule="sql-server-table",
        type="mssql_table",
        to="mssql://host/MSSQLSERVER/db/dbo/t",
        spellings=(
            ("sqlserver://host:1433", "db.dbo.t"),
            ("sqlserver://host;databaseName=db", "dbo.t"),
            ("sqlserver://;serverName=host;databaseName=db", "dbo.t"),
        ),
    ),
    "SQL Server, an instance": Case(
        rule="sql-server-instance-table",
        type="mssql_table",
        to="mssql://host/inst1/db/dbo/t",
        spellings=(
            ("sqlserver://host\\inst1;databaseName=db", "dbo.t"),
            ("sqlserver://host/inst1", "db.dbo.t"),
            ("sqlserver://host:1444;instanceName=inst1;databaseName=db", "dbo.t"),
            ("sqlserver://host:1444/inst1", "db.dbo.t"),
        ),
    ),
    "a subquery of SQL Server": Case(
        rule="sql-server-query",
        type="DataSet",
        to="mssql://srv.database.windows.net/db/COMPLEX",
        spellings=((f"{AZURE_SQL};database=db;", "COMPLEX"), (AZURE_SQL, "db.COMPLEX")),
    ),
    "Fabric's warehouse": Case(
        rule="fabric-warehouse-table",
        type="fabric_warehouse_table",
        to=f"{FABRIC}/x.datawarehouse.fabric.microsoft.com/warehouses/db/schemas/dbo/tables/t",
        spellings=(
            ("sqlserver://x.datawarehouse.fabric.microsoft.com", "db.dbo.t"),
            ("sqlserver://x.datawarehouse.fabric.microsoft.com:1433;database=db", "t"),
            ("mssql://X.datawarehouse.fabric.microsoft.com:1433", "db.dbo.t"),
            ("fabric-warehouse://x.datawarehouse.fabric.microsoft.com", "db.dbo.t"),
        ),
    ),
    "Fabric's warehouse, at its older host": Case(
        rule="fabric-warehouse-table",
        type="fabric_warehouse_table",
        to=f"{FABRIC}/x.datawarehouse.pbidedicated.windows.net/warehouses/db/schemas/dbo/tables/t",
        spellings=(("mssql://x.datawarehouse.pbidedicated.windows.net:1433", "db.dbo.t"),),
    ),
    "Fabric's SQL database": Case(
        rule="fabric-database-table",
        type="DataSet",
        to="mssql://x.database.fabric.microsoft.com/db-1/dbo/t",
        spellings=(("sqlserver://x.database.fabric.microsoft.com:1433", "db-1.dbo.t"),),
    ),
    # --- other databases
    "Azure's PostgreSQL": Case(
        rule="azure-postgresql-table",
        type="azure_postgresql_table",
        to="postgresql://h.postgres.database.azure.com/d/public/t",
        spellings=(
            ("postgresql://h.postgres.database.azure.com:5432/d", "t"),
            ("postgresql://h.postgres.database.azure.com:5432/d?sslmode=require", "public.t"),
            ("postgres://h.postgres.database.azure.com:5432", "d.public.t"),
            ("postgres://h.postgres.database.azure.com", "d.t"),
        ),
    ),
    "Azure's PostgreSQL in China": Case(
        rule="azure-postgresql-table",
        type="azure_postgresql_table",
        to="postgresql://h.postgres.database.chinacloudapi.cn/d/s/t",
        spellings=(("postgres://h.postgres.database.chinacloudapi.cn:5432", "d.s.t"),),
    ),
    "PostgreSQL": Case(
        rule="postgresql-table",
        type="postgresql_table",
        to="postgresql://servers/h:5432/dbs/d/schemas/public/tables/t",
        spellings=(
            ("postgres://h:5432", "d.public.t"),
            ("postgres://h", "d.t"),
            ("postgresql://H:5432/d", "t"),
            ("postgresql://h/d", "public.t"),
            ("postgresql://h/d", '"public"."t"'),
        ),
    ),
    "PostgreSQL of several hosts": Case(
        rule="postgresql-table",
        type="postgresql_table",
        to="postgresql://servers/h1:5432,h2:5433/dbs/d/schemas/s/tables/t",
        spellings=(("postgres://h1:5432,h2:5433", "d.s.t"), ("postgresql://h1,h2:5433/d", "s.t")),
    ),
    "Azure's MySQL": Case(
        rule="azure-mysql-table",
        type="azure_mysql_table",
        to="mysql://h.mysql.database.azure.com/d/t",
        spellings=(
            ("mysql://h.mysql.database.azure.com:3306/d", "t"),
            ("mysql://h.mysql.database.azure.com:3306", "d.t"),
            ("mysql://h.mysql.database.azure.com", "`d`.`t`"),
            ("mysql://h.mysql.database.azure.com:3306", "other.d.t"),
        ),
    ),
    "MySQL": Case(
        rule="mysql-name",
        type="DataSet",
        to="mysql://h:3306/d.t",
        spellings=(("mysql://h:3306", "d.t"), ("mysql://h", "d.t"), ("mysql://h/d?useSSL=true", "t")),
    ),
    "Oracle": Case(
        rule="oracle-table",
        type="oracle_table",
        to="oracle://h/S/T",
        spellings=(
            ("oracle://h:1521", "svc.S.T"),
            ("oracle://h", "svc.S.T"),
            ("oracle://H:1521", "1521/svc.S.T"),
            ("oracle:thin:@//h:1521/svc", "S.T"),
            ("oracle:thin:@h:1521/svc", "S.T"),
            ("oracle:thin:@h:1521:svc", '"S"."T"'),
            (
                "oracle:thin:@(description=(address=(protocol=tcp)(host=h)(port=1521))(connect_data=(service_name=svc)))",
                "S.T",
            ),
        ),
    ),
    "Snowflake, an organisation's account": Case(
        rule="snowflake-table",
        type="snowflake_table",
        to="snowflake://org-acct.snowflakecomputing.com/databases/D/schemas/S/tables/T",
        spellings=(
            ("snowflake://org-acct", "D.S.T"),
            ("snowflake://Org-Acct.snowflakecomputing.com", "D.S.T"),
            ("snowflake://https://org-acct.snowflakecomputing.com:443/", '"D"."S"."T"'),
        ),
    ),
    "Snowflake, a locator alone": Case(
        rule="snowflake-table-of-first-region",
        type="snowflake_table",
        to="snowflake://xy12345.snowflakecomputing.com/databases/D/schemas/S/tables/T",
        spellings=(
            ("snowflake://xy12345.us-west-1.aws", "D.S.T"),
            ("snowflake://xy12345.snowflakecomputing.com", "D.S.T"),
        ),
    ),
    "Snowflake, in Amazon's cloud": Case(
        rule="snowflake-table-of-amazons-region",
        type="snowflake_table",
        to="snowflake://xy12345.us-east-1.snowflakecomputing.com/databases/D/schemas/S/tables/T",
        spellings=(
            ("snowflake://xy12345.us-east-1.aws", "D.S.T"),
            ("snowflake://xy12345.us-east-1.snowflakecomputing.com", "D.S.T"),
        ),
    ),
    "Snowflake, in Azure's cloud": Case(
        rule="snowflake-table-of-region",
        type="snowflake_table",
        to="snowflake://xy12345.east-us-2.azure.snowflakecomputing.com/databases/D/schemas/S/tables/T",
        spellings=(
            ("snowflake://xy12345.east-us-2.azure", "D.S.T"),
            ("snowflake://xy12345.east-us-2.azure.snowflakecomputing.com", "D.S.T"),
        ),
    ),
    "Snowflake, as its users type it": Case(
        rule="snowflake-table",
        type="snowflake_table",
        to="snowflake://org-acct.snowflakecomputing.com/databases/D/schemas/S/tables/T",
        spellings=(("snowflake://org-acct", "d.s.t"),),
    ),
    "Redshift": Case(
        rule="redshift-name",
        type="DataSet",
        to="redshift://cluster.eu-west-1:5439/d.s.t",
        spellings=(
            ("redshift://cluster.eu-west-1:5439", "d.s.t"),
            ("redshift://Cluster.c1a2b3.eu-west-1.redshift.amazonaws.com:5439", "d.s.t"),
            ("redshift://cluster.c1a2b3.eu-west-1.redshift.amazonaws.com", "d.s.t"),
            ("redshift://cluster.123456.eu-west-1.redshift-serverless.amazonaws.com:5439", '"d"."s"."t"'),
        ),
    ),
    "DuckDB": Case(
        rule="duckdb-name",
        type="DataSet",
        to="duckdb:///data/Shop.duckdb/Shop.main.orders",
        spellings=(
            ("duckdb:///data/Shop.duckdb", "Shop.main.orders"),
            ("duckdb:/data/Shop.duckdb", "main.orders"),
            ("duckdb:/data/Shop.duckdb?access_mode=read_only", "orders"),
        ),
    ),
    "ClickHouse": Case(
        rule="clickhouse-name",
        type="DataSet",
        to="clickhouse://h:8123/shop.orders",
        spellings=(("clickhouse://h:8123", "shop.orders"), ("clickhouse://H:8123/", "`shop`.`orders`")),
    ),
    "Dremio": Case(
        rule="dremio-name",
        type="DataSet",
        to="dremio://h:9047/space.shop.orders",
        spellings=(("dremio://h:9047", "space.shop.orders"),),
    ),
    "BigQuery": Case(
        rule="bigquery-table",
        type="bigquery_table",
        to="bigquery://p/d/t",
        spellings=(
            ("bigquery", "p.d.t"),
            ("bigquery", "/p.d.t"),
            ("bigquery", "p:d.t"),
            ("bigquery", "p.d.t$20240501"),
        ),
    ),
    "Cosmos DB": Case(
        rule="cosmos-collection",
        type="azure_cosmosdb_sqlapi_collection",
        to="https://acct.documents.azure.com/dbs/Db/colls/c",
        spellings=(
            ("azurecosmos://acct.documents.azure.com/dbs/Db", "/colls/c"),
            ("azurecosmos://Acct.documents.azure.com:443/dbs/Db/", "colls/c"),
        ),
    ),
    "Cosmos DB of a government": Case(
        rule="cosmos-collection",
        type="azure_cosmosdb_sqlapi_collection",
        to="https://acct.documents.azure.us/dbs/d/colls/c",
        spellings=(("azurecosmos://acct.documents.azure.us/dbs/d", "/colls/c"),),
    ),
    "Data Explorer": Case(
        rule="kusto-table",
        type="azure_data_explorer_table",
        to="https://c.westeurope.kusto.windows.net/d/t",
        spellings=(
            ("azurekusto://c.westeurope.kusto.windows.net/d", "t"),
            ("azurekusto://c.westeurope.kusto.windows.net", "d/t"),
            ("azurekusto://c.westeurope.kusto.windows.net/d;Fed=true", "t"),
            ("azurekusto://https://c.westeurope.kusto.windows.net.kusto.windows.net/d", "t"),
        ),
    ),
    "Data Explorer, a host of one's own": Case(
        rule="kusto-table",
        type="azure_data_explorer_table",
        to="https://cluster/d/t",
        spellings=(("azurekusto://cluster/d", "t"), ("azurekusto://Cluster", "d/t")),
    ),
    "Data Explorer in China": Case(
        rule="kusto-table",
        type="azure_data_explorer_table",
        to="https://c.kusto.chinacloudapi.cn/d/t",
        spellings=(("azurekusto://c.kusto.chinacloudapi.cn/d", "t"),),
    ),
    "a query of Data Explorer": Case(
        rule="kusto-query",
        type="DataSet",
        to="https://c.kusto.windows.net/d/COMPLEX",
        spellings=(
            ("azurekusto://c.kusto.windows.net/d", "COMPLEX"),
            ("azurekusto://c.kusto.windows.net", "d/COMPLEX"),
        ),
    ),
    "Kafka": Case(
        rule="kafka-topic",
        type="kafka_topic",
        to="kafka://h:9092/orders",
        spellings=(("kafka://h:9092", "orders"), ("KAFKA://H:9092", "orders")),
    ),
    "Event Hubs": Case(
        rule="kafka-topic",
        type="kafka_topic",
        to="kafka://ns.servicebus.windows.net:9093/hub",
        spellings=(("kafka://ns.servicebus.windows.net:9093", "hub"),),
    ),
    # --- stores without a rule
    "unknown store": Case(
        rule="unknown-store",
        type="DataSet",
        to="unheard-of://h:9042/keys.t",
        spellings=(("unheard-of://h:9042", "keys.t"), ("UNHEARD-OF://H:9042", "keys.t")),
    ),
    "unknown store without a scheme": Case(
        rule="unknown-store", type="DataSet", to="Marquez/p.d.t", spellings=(("Marquez", "p.d.t"),)
    ),
    "a warehouse's folder": Case(
        rule="unknown-store",
        type="DataSet",
        to="file:/data/warehouse/default.t",
        spellings=(("file:/data/warehouse", "default.t"),),
    ),
    "nothing at all": Case(rule="unknown-store", type="DataSet", to="/", spellings=(("", ""),)),
}
ALL_CASES = (*CASES.values(), *SPECIFICATION.values())
SPELLINGS = [(case, spelling) for case in ALL_CASES for spelling in case.spellings]


@pytest.mark.parametrize(("case", "spelling"), SPELLINGS, ids=[" ".join(spelling) for _, spelling in SPELLINGS])
def test_every_spelling_has_the_expected_type_and_qualified_name(case: Case, spelling: tuple[str, str]) -> None:
    """Every spelling gives one identity, and the catalog's name."""
    identity = canonical(*spelling, case.environment)
    assert identity == canonical(*case.spellings[0], case.environment)
    best = BUILT_IN.name(identity, environment=case.environment).best
    assert (best.rule, best.type, best.qualified_name) == (case.rule, case.type, case.to)


def test_every_rule_has_a_case() -> None:
    names = [rule.name for rule in RULES if not rule.by_id]
    assert set(names) == {case.rule for case in ALL_CASES} - {"unknown-store"}
    assert len(names) == len(set(names))
    assert all(rule.because for rule in RULES)


# --- a location, and the tables that symlinks name

HIVE = ("hive://metastore:9083", "sales.orders")
UNITY = ("unity-catalog", "main.sales.orders")
REST = ("https://rest:8181", "sales.orders")


@pytest.mark.parametrize(
    ("namespace", "name"),
    [(LAKE, "raw/orders"), (BLOB, "orders"), (ONELAKE, "shop.Lakehouse/Tables/orders"), ("file", "/warehouse/orders")],
)
@pytest.mark.parametrize("link", [HIVE, UNITY])
def test_a_location_comes_before_a_tables_name(namespace: str, name: str, link: tuple[str, str]) -> None:
    """The same data, read by path and by table, must be one asset; the table is a further name."""
    identity = canonical(namespace, name)
    environment = RunEnvironment(workspace="adb-1.2.azuredatabricks.net")
    named = BUILT_IN.name(identity, [link], environment)
    lone_naming = BUILT_IN.name(identity, environment=environment)
    assert named.best == lone_naming.best
    assert named.others[0].type == {HIVE: "hive_table", UNITY: "databricks_table"}[link]
    assert set(lone_naming.others) < set(named.others)


@pytest.mark.parametrize(
    ("namespace", "name"),
    [
        ("s3://bucket", "orders"),
        ("hdfs://nn", "/orders"),
        ("gs://b", "orders"),
        ("dbfs", "/x"),
        ("unheard-of://h", "k.t"),
    ],
)
def test_a_tables_name_comes_before_a_location_that_no_scan_is_known_to_name(namespace: str, name: str) -> None:
    identity = canonical(namespace, name)
    named = BUILT_IN.name(identity, [("file:/warehouse", "default.t"), HIVE])
    assert named.best.key == ("hive_table", "sales.orders@metastore")
    best_name = BUILT_IN.name(identity).best
    assert (best_name in named.others) == (best_name.rule != "unknown-store")


def test_a_name_that_no_scan_gives_does_not_come_before_a_location() -> None:
    identity = canonical("s3://bucket", "orders")
    assert BUILT_IN.name(identity, [REST]).best == BUILT_IN.name(identity).best


@pytest.mark.parametrize(
    "link",
    [
        ("file:/data/warehouse", "default.t"),
        (LAKE, "elsewhere"),
        ("hive://h", "delta.`/data/t`"),
        ("gcp_lakehouse", "lake.d.t"),
        UNITY,
    ],
)
def test_symlinks_without_a_rule_change_nothing(link: tuple[str, str]) -> None:
    """`unity-catalog` without a workspace could be any."""
    identity = canonical("s3://bucket", "t")
    assert BUILT_IN.name(identity, [link]) == BUILT_IN.name(identity)


def test_candidates_come_best_first_and_once() -> None:
    named = BUILT_IN.name(canonical(LAKE, "raw/orders"), [HIVE, HIVE])
    assert [other.key for other in named.others] == [
        ("hive_table", "sales.orders@metastore"),
        ("azure_datalake_gen2_resource_set", "https://contoso.dfs.core.windows.net/lake/raw/orders/{SparkPartitions}"),
        ("azure_blob_path", "https://contoso.blob.core.windows.net/lake/raw/orders"),
        ("hive_view", "sales.orders@metastore"),
    ]


def test_the_name_of_a_view_is_a_candidate_for_a_table() -> None:
    named = BUILT_IN.name(canonical(AZURE_SQL, "db.dbo.v"))
    assert [other.key for other in named.others] == [("azure_sql_view", "mssql://srv.database.windows.net/db/dbo/v")]


def test_naming_rules_can_be_pickled() -> None:
    """Spark pickles them."""
    names = pickle.loads(pickle.dumps(BUILT_IN))  # noqa: S301 - our own bytes
    assert names.name(canonical(LAKE, "t")) == BUILT_IN.name(canonical(LAKE, "t"))


# --- several names in one


@pytest.mark.parametrize(
    ("namespace", "name", "names"),
    [
        ("kafka://h:9092", "orders,routed", ["orders", "routed"]),
        ("kafka://h:9092", " orders, routed ,,orders", ["orders", "routed"]),
        ("kafka://h:9092", "orders", ["orders"]),
        ("kafka://h:9092", ",", [","]),
        ("file", "/a,b", ["/a,b"]),
    ],
)
def test_listed_topics_are_separate_data_sets(namespace: str, name: str, names: list[str]) -> None:
    assert split_names(namespace, name) == tuple((namespace, name) for name in names)


# --- hostile names


@pytest.mark.parametrize("namespace", ["file", LAKE, BLOB, ONELAKE, "unknown", AZURE_SQL, "kafka://h"])
def test_long_names_are_shortened_and_stay_different(namespace: str) -> None:
    """Atlas takes longer with the square of a name's length; a shortened name ends in a digest of the whole."""
    long = [BUILT_IN.name(canonical(namespace, "a" * 100_000 + end)).best.qualified_name for end in "xy"]
    assert all(len(name) == 2000 for name in long)
    assert long[0] != long[1]


def test_names_as_long_as_a_store_allows_are_not_shortened() -> None:
    longest = "/".join(["d" * 99] * 10) + "x" * 24
    assert len(longest) > 1000
    assert BUILT_IN.name(canonical(LAKE, longest)).best.qualified_name.endswith(longest)


HOSTILE_NAMESPACES = (
    "hive://h/" + "\n" * 100_000,
    "hive://h",
    LAKE,
    ONELAKE,
    AZURE_SQL,
    "sqlserver://" + ";a=" * 50_000,
    "oracle:thin:@(" * 9_000,
    "postgres://" + "," * 100_000,
    "snowflake://a" + "." * 100_000,
    "azurekusto://" + "https://" * 20_000,
    "bigquery",
    "azurecosmos://a/dbs/" + "/" * 100_000,
    "kafka://h",
    "unity-catalog",
    "mysql://h",
    "https://" + "." * 100_000,
    "hdfs",
)


@pytest.mark.parametrize("namespace", HOSTILE_NAMESPACES, ids=lambda namespace: namespace[:24])
def test_hostile_names_are_read_in_no_time(namespace: str) -> None:
    """No pattern looks at a name's length squared: these would take hours."""
    pieces = (
        "x",
        "/Tables",
        "a.Lakehouse",
        "=",
        "\n",
        "[",
        "]",
        '"',
        ".",
        "[a].",
        '"".',
        "`",
        "1/",
        "2024/05/",
        "-",
        "checkpoint/",
    )
    for piece in pieces:
        name = piece * (100_000 // len(piece))
        assert (
            len(BUILT_IN.name(canonical(namespace, name, DATABRICKS), [(namespace, name)]).best.qualified_name) <= 2000
        )


ANY_NAMESPACE = st.one_of(
    st.text(max_size=40),
    st.builds(
        str.__add__,
        st.sampled_from([namespace for case in ALL_CASES for namespace, _ in case.spellings]),
        st.text(alphabet="/:;=.@%[]\\ aA1", max_size=8),
    ),
)
ANY_NAME = st.text(max_size=40) | st.text(alphabet='abC1.,/[]"`=:%-$ \\', max_size=30)
ANY_ENVIRONMENT = st.just(NO_ENVIRONMENT) | st.builds(
    RunEnvironment,
    workspace=st.text(max_size=20),
    mounts=st.lists(st.tuples(st.text(max_size=6), st.text(max_size=20) | st.just(LAKE)), max_size=3).map(tuple),
)


@given(ANY_NAMESPACE, ANY_NAME, ANY_ENVIRONMENT)
def test_any_data_set_gets_a_printable_qualified_name(namespace: str, name: str, environment: RunEnvironment) -> None:
    naming_explanation = explain(
        namespace, name, symlinks=[(name, namespace), (namespace, name)], environment=environment
    )
    for named in (naming_explanation.naming.best, *naming_explanation.naming.others):
        assert named.qualified_name.isprintable()
        assert named.qualified_name
        assert len(named.qualified_name) <= 2000
        assert named.type


@given(ANY_NAMESPACE, ANY_NAME)
def test_the_canonical_form_of_an_identity_is_the_identity_itself(namespace: str, name: str) -> None:
    folded = canonical(namespace, name)
    assert canonical(folded.namespace, folded.name) == folded
    assert BUILT_IN.name(canonical(folded.namespace, folded.name)) == BUILT_IN.name(folded)
