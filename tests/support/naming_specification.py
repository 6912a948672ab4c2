"""Every form of a namespace and name in OpenLineage's naming specification, with the catalog's name.

The rows are those of `website/docs/spec/naming.md` of the OpenLineage repository (August 2026), in its order and by its
words for the stores. A row of type `DataSet` has its reason in the rule's `because`.
"""

from tests.support.naming_cases import Case

_FABRIC = "k3xyz.datawarehouse.fabric.microsoft.com"


def _generic(rule: str, namespace: str, name: str) -> Case:
    """A store whose data sets are generic."""
    return Case(rule=rule, type="DataSet", to=f"{namespace}/{name}", spellings=((namespace, name),))


SPECIFICATION: dict[str, Case] = {
    "Athena": _generic("awsathena-name", "awsathena://athena.eu-west-1.amazonaws.com", "awsdatacatalog.shop.orders"),
    "AWS Glue": _generic("glue-table", "arn:aws:glue:eu-west-1:123456789012", "table/shop/orders"),
    "Azure Cosmos DB": Case(
        rule="cosmos-collection",
        type="azure_cosmosdb_sqlapi_collection",
        to="https://acct.documents.azure.com/dbs/shop/colls/orders",
        spellings=(("azurecosmos://acct.documents.azure.com/dbs/shop", "colls/orders"),),
    ),
    "Azure Data Explorer": Case(
        rule="kusto-table",
        type="azure_data_explorer_table",
        to="https://cluster.kusto.windows.net/shop/orders",
        spellings=(("azurekusto://cluster.kusto.windows.net", "shop/orders"),),
    ),
    "Azure Synapse": _generic("sql-server-name", "sqlserver://ws.sql.azuresynapse.net:1433", "dbo.orders"),
    "BigQuery": Case(
        rule="bigquery-table",
        type="bigquery_table",
        to="bigquery://project/shop/orders",
        spellings=(("bigquery", "project.shop.orders"),),
    ),
    "Cassandra": _generic("cassandra-name", "cassandra://h:9042", "shop.orders"),
    "Milvus": _generic("milvus-name", "milvus://h:19530", "shop.orders"),
    "Microsoft Fabric Warehouse": Case(
        rule="fabric-warehouse-table",
        type="fabric_warehouse_table",
        to=f"https://app.fabric.microsoft.com/groups/{_FABRIC}/warehouses/shop/schemas/dbo/tables/orders",
        spellings=(
            (f"fabric-warehouse://{_FABRIC}", "shop.dbo.orders"),
            (f"fabric-warehouse://{_FABRIC}:1433", "shop.dbo.orders"),
        ),
    ),
    "MySQL": _generic("mysql-name", "mysql://h:3306", "shop.orders"),
    "CrateDB": _generic("crate-name", "crate://h:5432", "crate.shop.orders"),
    "DB2": _generic("db2-name", "db2://h:50000", "SHOP.S.ORDERS"),
    "Hive": Case(
        rule="hive-table",
        type="hive_table",
        to="shop.orders@metastore",
        spellings=(("hive://metastore:9083", "shop.orders"),),
    ),
    "MSSQL": Case(
        rule="sql-server-table",
        type="mssql_table",
        to="mssql://h/MSSQLSERVER/shop/dbo/orders",
        spellings=(("mssql://h:1433", "shop.dbo.orders"),),
    ),
    "OceanBase": _generic("oceanbase-name", "oceanbase://h:2881", "shop.orders"),
    "Oracle": Case(
        rule="oracle-table",
        type="oracle_table",
        to="oracle://h/SHOP/ORDERS",
        spellings=(("oracle://h:1521", "service.SHOP.ORDERS"),),
    ),
    "Postgres": Case(
        rule="postgresql-table",
        type="postgresql_table",
        to="postgresql://servers/h:5432/dbs/shop/schemas/public/tables/orders",
        spellings=(("postgres://h:5432", "shop.public.orders"),),
    ),
    "Teradata": _generic("teradata-name", "teradata://h:1025", "shop.orders"),
    "Redshift": _generic("redshift-name", "redshift://cluster.eu-west-1:5439", "shop.public.orders"),
    "Snowflake, an organisation's account": Case(
        rule="snowflake-table",
        type="snowflake_table",
        to="snowflake://org-acct.snowflakecomputing.com/databases/SHOP/schemas/PUBLIC/tables/ORDERS",
        spellings=(("snowflake://org-acct", "SHOP.PUBLIC.ORDERS"),),
    ),
    "Snowflake, a locator with region and cloud": Case(
        rule="snowflake-table-of-region",
        type="snowflake_table",
        to="snowflake://xy12345.east-us-2.azure.snowflakecomputing.com/databases/SHOP/schemas/PUBLIC/tables/ORDERS",
        spellings=(("snowflake://xy12345.east-us-2.azure", "SHOP.PUBLIC.ORDERS"),),
    ),
    "Spanner": _generic("spanner-name", "spanner://project:instance", "shop.public.orders"),
    "Trino": _generic("trino-name", "trino://h:8080", "hive.shop.orders"),
    "Unity Catalog": Case(
        rule="unity-catalog-server-table",
        type="databricks_table",
        to="databricks://uc.example/catalogs/main/schemas/shop/tables/orders",
        spellings=(("unitycatalog://uc.example", "main.shop.orders"),),
    ),
    "Unity Catalog, with a port": Case(
        rule="unity-catalog-server-table",
        type="databricks_table",
        to="databricks://uc.example/catalogs/main/schemas/shop/tables/orders",
        spellings=(("unitycatalog://uc.example:8080", "main.shop.orders"),),
    ),
    "ABFSS (Azure Data Lake Gen2)": Case(
        rule="adls-path",
        type="azure_datalake_gen2_path",
        to="https://acct.dfs.core.windows.net/lake/shop/orders",
        spellings=(("abfss://lake@acct.dfs.core.windows.net", "shop/orders"),),
    ),
    "DBFS (Databricks File System)": Case(
        rule="dbfs-path-of-namespace",
        type="DataSet",
        to="dbfs://workspace/shop/orders",
        spellings=(("dbfs://workspace", "/shop/orders"),),
    ),
    "GCS": Case(
        rule="gcs-path", type="DataSet", to="gs://bucket/shop/orders", spellings=(("gs://bucket", "shop/orders"),)
    ),
    "HDFS": Case(
        rule="hdfs-path",
        type="hdfs_path",
        to="hdfs://nn:8020/shop/orders",
        spellings=(("hdfs://nn:8020", "/shop/orders"),),
    ),
    "Kafka": Case(
        rule="kafka-topic", type="kafka_topic", to="kafka://h:9092/orders", spellings=(("kafka://h:9092", "orders"),)
    ),
    "Local file system": Case(
        rule="local-path", type="fs_path", to="file:///shop/orders", spellings=(("file", "/shop/orders"),)
    ),
    "Remote file system": Case(
        rule="host-path", type="fs_path", to="file://host/shop/orders", spellings=(("file://host", "/shop/orders"),)
    ),
    "Box": _generic("box-name", "box://api.box.com:443/12345", "contracts/a.pdf"),
    "FileNet": _generic("filenet-name", "filenet://h:9443/repository", "contracts/a.pdf"),
    "S3": Case(
        rule="s3-path",
        type="aws_s3_v2_directory",
        to="s3://bucket/shop/orders",
        spellings=(("s3://bucket", "shop/orders"),),
    ),
    "SharePoint": _generic("mssharepoint-name", "mssharepoint://contoso.sharepoint.com:443/site", "contracts/a.pdf"),
    "WASBS (Azure Blob Storage)": Case(
        rule="adls-path",
        type="azure_datalake_gen2_path",
        to="https://acct.dfs.core.windows.net/lake/shop/orders",
        spellings=(("wasbs://lake@acct.dfs.core.windows.net", "shop/orders"),),
    ),
    "PubSub, a topic": _generic("pubsub-name", "pubsub", "topic:project:orders"),
    "PubSub, a subscription": _generic("pubsub-name", "pubsub", "subscription:project:orders"),
    "In memory": Case(
        rule="inmemory-name", type="DataSet", to="inmemory/frame-1", spellings=(("inmemory://", "frame-1"),)
    ),
}
