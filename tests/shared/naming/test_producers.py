"""Producers that name one data set differently: each of their spellings gives the same asset.

The spellings are those of OpenLineage's integrations (1.53), its tests, and Airflow's providers. What no event says,
such as the store behind a query engine, comes from the file of names.
"""

from dataclasses import dataclass

import pytest

from shared.naming.names import BUILT_IN, RULES, Names, Naming, canonical
from shared.naming.stores.families import NO_ENVIRONMENT, RunEnvironment
from shared.naming.user_rules import parse_names


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """A data set as a producer names it, with its symlinks and the environment of the run; `by_file`: which asset it is
    only the file of names says.
    """

    dataset: tuple[str, str]
    symlinks: tuple[tuple[str, str], ...] = ()
    environment: RunEnvironment = NO_ENVIRONMENT
    by_file: bool = False

    def named(self, names: Names) -> Naming:
        """Its names by these rules."""
        return names.name(canonical(*self.dataset, self.environment), self.symlinks, self.environment)


HOST = "adb-1.2.azuredatabricks.net"
DATABRICKS = RunEnvironment(workspace=HOST, mounts=(("/mnt/lake", "abfss://lake@acct.dfs.core.windows.net/"),))
STORAGE = "abfss://unity@acct.dfs.core.windows.net"
MANAGED = "74/__unitystorage/catalogs/3d92ab1b-0000-4000-8000-77c689e76698/tables/5cd1b0de-0000-4000-8000-7cba2aaa49fd"
IN_ROOT = "5c5d0000-0000-4000-8000-000000000000/tables/5cd1b0de-0000-4000-8000-7cba2aaa49fd"
LAKE = "abfss://lake@acct.dfs.core.windows.net"
GLUE = ("arn:aws:glue:eu-west-1:1", "table/shop/orders")
HIVE = ("hive://metastore:9083", "shop.orders")
ENDPOINT = "k3xyz.datawarehouse.fabric.microsoft.com"
GROUP, SHOP, DW = (f"{digit * 8}-0000-4000-8000-{digit * 12}" for digit in "123")
BY_NAME, BY_ID = (f"abfss://{workspace}@onelake.dfs.fabric.microsoft.com" for workspace in ("sales", GROUP))
FABRIC = f"https://app.fabric.microsoft.com/groups/{GROUP}"

NAMES: Names = parse_names(
    f"""
[fabric.workspaces.sales]
id = "{GROUP}"
lakehouses = {{ shop = "{SHOP}" }}
warehouses = {{ dw = "{DW}" }}
endpoint = "{ENDPOINT}"

[[rules]]
rule = "trino-postgres"
type = "postgresql_table"
namespace = "trino://trino:8080"
name = "pg[.](?P<schema>[^.]+)[.](?P<table>[^.]+)"
qualified_name = "postgresql://servers/db:5432/dbs/shop/schemas/{{schema}}/tables/{{table}}"

[[rules]]
rule = "trino-hive"
type = "hive_table"
namespace = "trino://trino:8080"
name = "hive[.](?P<database>[^.]+)[.](?P<table>[^.]+)"
qualified_name = "{{database}}.{{table}}@metastore"

[[rules]]
rule = "thrift"
type = "hive_table"
namespace = "spark://thrift:10000"
name = "(?P<database>[^.]+)[.](?P<table>[^.]+)"
qualified_name = "{{database}}.{{table}}@metastore"

[[rules]]
rule = "thrift-lake"
type = "azure_datalake_gen2_path"
namespace = "spark://thrift-lake:10000"
name = "(?P<database>[^.]+)[.](?P<table>[^.]+)"
qualified_name = "https://acct.dfs.core.windows.net/lake/warehouse/{{database}}.db/{{table}}"
""",
    "names.toml",
)

MEETINGS: dict[str, tuple[tuple[str, str], dict[str, Spelling]]] = {
    # a data set: the asset's type and qualified name, and how each producer names it
    "Azure SQL Database": (
        ("azure_sql_table", "mssql://srv.database.windows.net/shop/dbo/orders"),
        {
            "Spark and Flink by JDBC": Spelling(
                dataset=("sqlserver://srv.database.windows.net:1433", "shop.dbo.orders")
            ),
            "Spark before 1.13": Spelling(
                dataset=("sqlserver://srv.database.windows.net:1433;database=shop;", "dbo.orders")
            ),
            "dbt": Spelling(dataset=("mssql://srv.database.windows.net:1433", "shop.dbo.orders")),
            "Airflow, without a port": Spelling(dataset=("mssql://srv.database.windows.net", "shop.dbo.orders")),
        },
    ),
    "SQL Server, an instance": (
        ("mssql_table", "mssql://host/inst1/shop/dbo/orders"),
        {
            "Spark": Spelling(dataset=("sqlserver://host/inst1", "shop.dbo.orders")),
            "Spark before 1.13": Spelling(dataset=("sqlserver://host\\inst1;databaseName=shop", "dbo.orders")),
            "dbt": Spelling(dataset=("mssql://host\\inst1:1433", "shop.dbo.orders")),
        },
    ),
    "Synapse, dedicated pool": (
        ("azure_synapse_dedicated_sql_table", "mssql://ws.sql.azuresynapse.net/pool/dbo/orders"),
        {
            "Databricks' connector": Spelling(
                dataset=("sqlserver://ws.sql.azuresynapse.net:1433;database=pool;", "dbo.orders")
            ),
            "Spark by JDBC": Spelling(dataset=("sqlserver://ws.sql.azuresynapse.net:1433", "pool.dbo.orders")),
            "Airflow": Spelling(dataset=("mssql://ws.sql.azuresynapse.net:1433", "pool.dbo.orders")),
        },
    ),
    "Fabric warehouse": (
        ("fabric_warehouse_table", f"{FABRIC}/warehouses/{DW}/schemas/dbo/tables/orders"),
        {
            "dbt": Spelling(dataset=(f"fabric-warehouse://{ENDPOINT}", "dw.dbo.orders"), by_file=True),
            "dbt with a port": Spelling(dataset=(f"fabric-warehouse://{ENDPOINT}:1433", "dw.dbo.orders"), by_file=True),
            "Spark by JDBC": Spelling(dataset=(f"sqlserver://{ENDPOINT}:1433", "dw.dbo.orders"), by_file=True),
            "Airflow": Spelling(dataset=(f"mssql://{ENDPOINT}:1433", "DW.dbo.orders"), by_file=True),
            "a notebook by names": Spelling(dataset=(BY_NAME, "dw.Warehouse/Tables/dbo/orders"), by_file=True),
            "a notebook by ids": Spelling(dataset=(BY_ID, f"{DW}/Tables/dbo/orders"), by_file=True),
        },
    ),
    "Fabric lakehouse": (
        ("fabric_lakehouse_table", f"{FABRIC}/lakehouses/{SHOP}/tables/dbo%252Forders"),
        {
            "a notebook by ids": Spelling(dataset=(BY_ID, f"{SHOP}/Tables/dbo/orders")),
            "a notebook by names": Spelling(dataset=(BY_NAME, "shop.Lakehouse/Tables/dbo/orders"), by_file=True),
            "dbt of a warehouse": Spelling(dataset=(f"fabric-warehouse://{ENDPOINT}", "shop.dbo.orders"), by_file=True),
            "Spark by JDBC": Spelling(dataset=(f"sqlserver://{ENDPOINT}:1433", "shop.dbo.orders"), by_file=True),
        },
    ),
    "PostgreSQL": (
        ("postgresql_table", "postgresql://servers/db:5432/dbs/shop/schemas/public/tables/orders"),
        {
            "Spark, Flink, dbt and Airflow": Spelling(dataset=("postgres://db:5432", "shop.public.orders")),
            "the accelerator": Spelling(dataset=("postgresql://db:5432/shop", "public.orders")),
            "Trino": Spelling(dataset=("trino://trino:8080", "pg.public.orders"), by_file=True),
        },
    ),
    "MySQL": (
        ("DataSet", "mysql://db:3306/shop.orders"),
        {
            "Spark and Airflow": Spelling(dataset=("mysql://db:3306", "shop.orders")),
            "Spark before 1.13": Spelling(dataset=("mysql://db:3306/shop", "orders")),
            "Spark 1.25": Spelling(dataset=("mysql://db:3306", "shop.shop.orders")),
        },
    ),
    "Oracle": (
        ("oracle_table", "oracle://db/SHOP/ORDERS"),
        {
            "Spark and Airflow": Spelling(dataset=("oracle://db:1521", "svc.SHOP.ORDERS")),
            "Spark before 1.13": Spelling(dataset=("oracle:thin:@//db:1521/svc", "SHOP.ORDERS")),
        },
    ),
    "Snowflake": (
        ("snowflake_table", "snowflake://org-a.snowflakecomputing.com/databases/SHOP/schemas/PUBLIC/tables/ORDERS"),
        {
            "Airflow, and Iceberg in Snowflake's catalog": Spelling(
                dataset=("snowflake://org-a", "SHOP.PUBLIC.ORDERS")
            ),
            "dbt": Spelling(dataset=("snowflake://org-a", "SHOP.public.orders")),
            "Spark's connector": Spelling(dataset=("snowflake://org-a", "shop.public.orders")),
            "Spark before 1.30": Spelling(dataset=("snowflake://org-a.snowflakecomputing.com", "SHOP.PUBLIC.ORDERS")),
        },
    ),
    "BigQuery": (
        ("bigquery_table", "bigquery://project/shop/orders"),
        {
            "Spark, dbt and Airflow": Spelling(dataset=("bigquery", "project.shop.orders")),
            "Hive": Spelling(dataset=("bigquery", "project:shop.orders")),
        },
    ),
    "Redshift": (
        ("DataSet", "redshift://cluster.eu-west-1:5439/shop.public.orders"),
        {
            "Airflow": Spelling(dataset=("redshift://cluster.eu-west-1:5439", "shop.public.orders")),
            "Spark and dbt": Spelling(
                dataset=("redshift://cluster.c1a2.eu-west-1.redshift.amazonaws.com:5439", "shop.public.orders")
            ),
        },
    ),
    "Unity Catalog, a managed table": (
        ("databricks_table", f"databricks://{HOST}/catalogs/main/schemas/gold/tables/orders"),
        {
            "a notebook": Spelling(
                dataset=(STORAGE, f"/{MANAGED}"),
                symlinks=(("unity-catalog", "main.gold.orders"),),
                environment=DATABRICKS,
            ),
            "a notebook, in the metastore's storage": Spelling(
                dataset=(STORAGE, IN_ROOT), symlinks=(("unity-catalog", "main.gold.orders"),), environment=DATABRICKS
            ),
            "a notebook in Amazon's cloud": Spelling(
                dataset=("s3://unity", MANAGED),
                symlinks=(("unity-catalog", "main.gold.orders"),),
                environment=DATABRICKS,
            ),
            "COPY INTO": Spelling(dataset=("unity-catalog", "main.gold.orders"), environment=DATABRICKS),
            "dbt": Spelling(dataset=(f"databricks://{HOST}", "main.gold.orders")),
            "dbt's adapter for Spark": Spelling(dataset=(f"spark://{HOST}:443", "main.gold.orders")),
            "Airflow": Spelling(dataset=(f"databricks://{HOST}", "Main.Gold.Orders")),
            "Spark by JDBC": Spelling(dataset=(f"databricks://{HOST}:443", "main.gold.orders")),
        },
    ),
    "a Hive metastore of Databricks": (
        ("hive_table", f"gold.orders@{HOST}"),
        {
            "a notebook": Spelling(dataset=("dbfs", "/user/hive/warehouse/gold.db/orders"), environment=DATABRICKS),
            "the specification's DBFS": Spelling(dataset=(f"dbfs://{HOST}", "/user/hive/warehouse/gold.db/orders")),
            "a notebook with Unity Catalog": Spelling(
                dataset=("dbfs", "/user/hive/warehouse/gold.db/orders"),
                symlinks=(("unity-catalog", "hive_metastore.gold.orders"),),
                environment=DATABRICKS,
            ),
            "a notebook with a metastore of its own": Spelling(
                dataset=("hive://10.0.0.1:9083", "gold.orders"), environment=DATABRICKS
            ),
            "dbt": Spelling(dataset=(f"databricks://{HOST}", "gold.orders")),
            "dbt, with the catalog": Spelling(dataset=(f"databricks://{HOST}", "hive_metastore.gold.orders")),
            "dbt's adapter for Spark": Spelling(dataset=(f"spark://{HOST}:443", "gold.orders")),
        },
    ),
    "a Hive metastore over HDFS": (
        ("hive_table", "shop.orders@metastore"),
        {
            "Spark": Spelling(dataset=("hdfs://nn:8020", "/warehouse/shop.db/orders"), symlinks=(HIVE,)),
            "Hive": Spelling(dataset=HIVE, symlinks=(("hdfs://nn:8020", "/warehouse/shop.db/orders"),)),
            "Hive, without the location": Spelling(dataset=HIVE),
            "Trino": Spelling(dataset=("trino://trino:8080", "hive.shop.orders"), by_file=True),
            "dbt of a server of Spark": Spelling(dataset=("spark://thrift:10000", "shop.orders"), by_file=True),
        },
    ),
    "a Hive metastore over a lake": (
        ("azure_datalake_gen2_path", "https://acct.dfs.core.windows.net/lake/warehouse/shop.db/orders"),
        {
            "Spark by path": Spelling(dataset=(LAKE, "/warehouse/shop.db/orders")),
            "Spark": Spelling(dataset=(LAKE, "warehouse/shop.db/orders"), symlinks=(HIVE,)),
            "Hive": Spelling(dataset=HIVE, symlinks=((LAKE, "warehouse/shop.db/orders"),)),
            "dbt of a server of Spark": Spelling(dataset=("spark://thrift-lake:10000", "shop.orders"), by_file=True),
        },
    ),
    "a lake": (
        ("azure_datalake_gen2_path", "https://acct.dfs.core.windows.net/lake/raw/orders"),
        {
            "Spark, Flink, and Airflow's COPY INTO": Spelling(dataset=(LAKE, "raw/orders")),
            "Spark before 1.51": Spelling(dataset=("abfs://lake@acct.dfs.core.windows.net", "/raw/orders")),
            "the specification's WASBS": Spelling(dataset=("wasbs://lake@acct.dfs.core.windows.net", "raw/orders")),
            "a mount of Databricks": Spelling(dataset=("dbfs", "/mnt/lake/raw/orders"), environment=DATABRICKS),
            "an external table of Unity Catalog": Spelling(
                dataset=(LAKE, "raw/orders"), symlinks=(("unity-catalog", "main.raw.orders"),), environment=DATABRICKS
            ),
            "a table in a warehouse": Spelling(
                dataset=(LAKE, "raw/orders"), symlinks=((f"{LAKE}/raw", "default.orders"),)
            ),
        },
    ),
    "Blob Storage": (
        ("azure_blob_path", "https://acct.blob.core.windows.net/raw/in/orders"),
        {
            "Spark": Spelling(dataset=("wasbs://raw@acct.blob.core.windows.net", "in/orders")),
            "Spark before 1.51": Spelling(dataset=("wasb://raw@acct.blob.core.windows.net", "/in/orders")),
            "Airflow": Spelling(dataset=("wasbs://raw@acct", "in/orders")),
        },
    ),
    "S3": (
        ("aws_s3_v2_directory", "s3://bucket/raw/orders"),
        {
            "Spark": Spelling(dataset=("s3://bucket", "raw/orders")),
            "Spark before 1.13": Spelling(dataset=("s3a://bucket", "/raw/orders")),
        },
    ),
    "Glue": (
        ("DataSet", "arn:aws:glue:eu-west-1:1/table/shop/orders"),
        {
            "Spark, with or without Iceberg": Spelling(dataset=("s3://bucket", "raw/orders"), symlinks=(GLUE,)),
            "dbt of Athena": Spelling(
                dataset=("awsathena://athena.eu-west-1.amazonaws.com", "awsdatacatalog.shop.orders"), symlinks=(GLUE,)
            ),
            "dbt of Glue": Spelling(dataset=("arn:aws:glue:eu-west-1:1", "shop.orders")),
        },
    ),
    "Kafka": (
        ("kafka_topic", "kafka://broker:9092/orders"),
        {
            "Spark and Flink": Spelling(dataset=("kafka://broker:9092", "orders")),
            "Debezium": Spelling(dataset=("kafka://Broker:9092", "orders")),
        },
    ),
    "Data Explorer": (
        ("azure_data_explorer_table", "https://c.westeurope.kusto.windows.net/shop/orders"),
        {
            "Spark": Spelling(dataset=("azurekusto://c.westeurope.kusto.windows.net/shop", "orders")),
            "the specification": Spelling(dataset=("azurekusto://c.westeurope.kusto.windows.net", "shop/orders")),
        },
    ),
    "DuckDB": (
        ("DataSet", "duckdb:///data/shop.duckdb/shop.main.orders"),
        {
            "dbt": Spelling(dataset=("duckdb:///data/shop.duckdb", "shop.main.orders")),
            "Spark by JDBC": Spelling(dataset=("duckdb:/data/shop.duckdb", "main.orders")),
            "Spark by JDBC, without the schema": Spelling(dataset=("duckdb:/data/shop.duckdb", "orders")),
        },
    ),
}
CASES = {
    f"{dataset}, {producer}": (asset, spelling)
    for dataset, (asset, producers) in MEETINGS.items()
    for producer, spelling in producers.items()
}


@pytest.mark.parametrize(("asset", "spelling"), CASES.values(), ids=CASES)
def test_all_producers_name_one_asset(asset: tuple[str, str], spelling: Spelling) -> None:
    assert spelling.named(NAMES).best.key == asset


@pytest.mark.parametrize(("asset", "spelling"), CASES.values(), ids=CASES)
def test_the_file_of_names_says_only_what_no_event_says(asset: tuple[str, str], spelling: Spelling) -> None:
    assert (spelling.named(BUILT_IN).best.key != asset) == spelling.by_file


def test_every_rule_that_needs_ids_names_a_spelling() -> None:
    used_rules = {spelling.named(NAMES).best.rule for _, spelling in CASES.values()}
    assert {rule.name for rule in RULES if rule.by_id} <= used_rules
