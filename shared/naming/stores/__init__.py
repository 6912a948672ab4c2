"""Store families, one module each. A new family is a module with `STORES`, and an entry in the table below."""

from shared.naming.rules.store import StoreFamily
from shared.naming.stores.catalogs import hive, iceberg, unity_catalog
from shared.naming.stores.files import adl, aws_s3, azure_storage, dbfs, gcs, hdfs, local_files, onelake, other_files
from shared.naming.stores.services import bigquery, cosmos, kafka, kusto, mysql, oracle, postgres, snowflake, sql_server

STORES: tuple[StoreFamily, ...] = (
    *onelake.STORES,
    *azure_storage.STORES,
    *adl.STORES,
    *local_files.STORES,
    *dbfs.STORES,
    *hdfs.STORES,
    *aws_s3.STORES,
    *gcs.STORES,
    *other_files.STORES,
    *sql_server.STORES,
    *postgres.STORES,
    *mysql.STORES,
    *oracle.STORES,
    *snowflake.STORES,
    *bigquery.STORES,
    *cosmos.STORES,
    *kusto.STORES,
    *kafka.STORES,
    *hive.STORES,
    *unity_catalog.STORES,
    *iceberg.STORES,
)
"""All families. Of several with one scheme the first whose authority fits is taken (`families_by_scheme`)."""
