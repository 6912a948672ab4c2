"""Cloud services: warehouses, document stores and Kafka; and catalogs of tables: Hive metastores, Unity Catalog, Glue,
Iceberg. A data set is a table, a collection or a topic.

Tables of catalogs often arrive as symlinks of a location. Names of Hive and Unity Catalog are in lower case, as both
store them: producers send them as their users typed them.
"""

import re

from shared.naming.stores.families import (
    GENERIC,
    QUERY,
    AlternateName,
    NamingRule,
    StoreFamily,
    as_table,
    authority_folded,
    table_folded,
    table_parts,
    unquoted,
)
from shared.naming.stores.rule_forms import generic_rule, rule, table_rule


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

_CATALOGS: tuple[StoreFamily, ...] = (
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


# --- Snowflake. Canonical: `snowflake://account` as listeners since 1.30 send it: an organisation's account unchanged,
# a locator with region and cloud (OpenLineage's Java client, `SnowflakeUtils`). Older ones send the whole host. A
# locator without a region is in AWS us-west-2; the listener names it us-west-1, which Snowflake does not have. Names
# are in upper case, as Snowflake stores them: dbt and Spark's connector send them as their users typed them.

_SNOWFLAKE_SCHEMA = "/databases/{database}/schemas/{schema}"
_SNOWFLAKE_HOST = "{account}.snowflakecomputing.com"


def _account(name: str, account: str, *hosts: str) -> NamingRule:
    """A rule for accounts of one form, with their possible hosts, the likeliest first."""
    best, *further = (f"snowflake://{host}{_SNOWFLAKE_SCHEMA}" for host in hosts)
    return table_rule(
        name,
        type="snowflake_table",
        namespace=f"snowflake://{account}",
        parts="database.schema.table",
        to=best + "/tables/{table}",
        because="Purview's scan of Snowflake names tables so, by the host of the account",
        also=(
            AlternateName(type="snowflake_view", to=best + "/views/{table}"),
            *(AlternateName(type="snowflake_table", to=schema + "/tables/{table}") for schema in further),
        ),
        clean=_upper,
    )


def _upper(part: str) -> str:
    return unquoted(part).upper()


_SNOWFLAKE: tuple[NamingRule, ...] = (
    _account("snowflake-table", "(?P<account>[^./]+)", _SNOWFLAKE_HOST, "{account}"),
    _account(
        "snowflake-table-of-first-region",
        r"(?P<account>[^./]+)\.us-west-1\.aws",
        _SNOWFLAKE_HOST,
        "{account}.us-west-2.aws.snowflakecomputing.com",
    ),
    _account(
        "snowflake-table-of-amazons-region",
        r"(?P<account>[^./]+\.[^./]+)\.aws",
        _SNOWFLAKE_HOST,
        "{account}.aws.snowflakecomputing.com",
    ),
    _account("snowflake-table-of-region", r"(?P<account>[^./]+\.[^./]+\.[^./]+)", _SNOWFLAKE_HOST, "{account}"),
)

_AFTER_HOST = re.compile("[/:?;]")
_LOCATOR, _WITH_REGION = 1, 2


def _snowflake(location: str, name: str) -> tuple[str, str]:
    host = _AFTER_HOST.split(location.lower().removeprefix("https://"), 1)[0]
    account = host.partition(".snowflakecomputing")[0]
    parts = account.split(".")
    if len(parts) == _LOCATOR and account and "-" not in account:
        account += ".us-west-1.aws"  # the listener's form of a locator alone
    elif len(parts) == _WITH_REGION:
        account += ".aws"
    return account, table_folded(table_parts(name.strip("/")))


# --- BigQuery. Canonical: `bigquery`, `project.dataset.table`, without a partition decorator (`$20240501`) and without
# older clients' colon after the project.

_BIGQUERY = rule(
    "bigquery-table",
    type="bigquery_table",
    namespace="bigquery",
    path=r"(?P<project>[^/]+)\.(?P<dataset>[^./]+)\.(?P<table>[^./]+)",
    to="bigquery://{project}/{dataset}/{table}",
    because="Purview's scan of BigQuery names tables so",
    also=(AlternateName(type="bigquery_view"),),
)

_DECORATOR = re.compile(r"(?:\$\w+|[/`])+\Z")
_BIGQUERY_API = "googleapis.com"
"""The API's host in JDBC namespaces; it is the same for all projects."""
_COLON = re.compile(r"([^:]+):([^.:]+\.[^.:]+)")


def _bigquery(location: str, name: str) -> tuple[str, str]:
    table = _DECORATOR.sub("", name.lstrip("/`"))
    legacy = _COLON.fullmatch(table)
    return "" if _BIGQUERY_API in location else location, f"{legacy[1]}.{legacy[2]}" if legacy else table


# --- Azure Cosmos DB's API for NoSQL, in all clouds.

_COSMOS = rule(
    "cosmos-collection",
    type="azure_cosmosdb_sqlapi_collection",
    namespace=r"azurecosmos://(?P<host>[^./:]+\.documents\.azure\.(?:com|cn|us))/dbs/(?P<database>[^/]+)",
    path=r"colls/(?P<collection>[^/]+)",
    to="https://{host}/dbs/{database}/colls/{collection}",
    because="Purview's scan of Cosmos DB names collections so",
)


def _cosmos(location: str, name: str) -> tuple[str, str]:
    return authority_folded(location).replace(":443/", "/", 1), name.strip("/")


# --- Azure Data Explorer (Kusto) in all clouds. Canonical: `azurekusto://cluster/database` and the table; OpenLineage's
# newer form has the database in the name. Listeners append `.kusto.windows.net` to the user's cluster, even to a whole
# address. A query is named `COMPLEX`: one generic data set for each database.

_KUSTO_PLACE = r"azurekusto://(?P<host>[^/:]+)/(?P<database>[^/]+)"

_KUSTO: tuple[NamingRule, ...] = (
    rule(
        "kusto-query",
        type=GENERIC,
        namespace=_KUSTO_PLACE,
        path=QUERY,
        to=f"https://{{host}}/{{database}}/{QUERY}",
        because="a query whose tables the listener does not report",
    ),
    rule(
        "kusto-table",
        type="azure_data_explorer_table",
        namespace=_KUSTO_PLACE,
        path="(?P<table>[^/]+)",
        to="https://{host}/{database}/{table}",
        because="Purview's scan of Azure Data Explorer names tables so",
    ),
)

_KUSTO_ADDRESS = re.compile(r"(?:https?:/*)?(?P<host>[^/:]*)(?::\d+)?(?:/+(?P<database>[^?;]*))?(?:[?;].*)?", re.DOTALL)
_TWICE = re.compile(r"(\.kusto\.[a-z.]+?)\.kusto\.windows\.net")


def _kusto(location: str, name: str) -> tuple[str, str]:
    address = _KUSTO_ADDRESS.fullmatch(location.rstrip("/"))
    if address is None:
        return location, name.strip("/")
    host = _TWICE.sub(r"\1", address["host"].lower())
    database, table = (address["database"] or "").strip("/"), name.strip("/")
    if not database:
        database, _, table = table.rpartition("/")
    database = database.strip("/")
    return f"{host}/{database}" if database else host, table


# --- Kafka, and Event Hubs by its Kafka endpoint. The name is ours, the type Atlas'.

_KAFKA = rule(
    "kafka-topic",
    type="kafka_topic",
    namespace="kafka://(?P<brokers>.+)",
    path="(?P<topic>.+)",
    to="kafka://{brokers}/{topic}",
    because="Atlas' type for topics; no scan of Purview names them",
)


def split_names(namespace: str, name: str) -> tuple[tuple[str, str], ...]:
    """The data sets of a namespace and name: in Kafka each topic of a list (a `subscribe` of several topics arrives as
    `orders,routed`), else just that one.
    """
    if "," not in name or not namespace.lower().startswith("kafka:"):
        return ((namespace, name),)
    topics = dict.fromkeys(topic.strip() for topic in name.split(","))
    return tuple((namespace, topic) for topic in topics if topic) or ((namespace, name),)


# --- Amazon Redshift. Canonical: `redshift://cluster.region:port`, OpenLineage's and Airflow's form; Spark's JDBC and
# dbt have the whole host.

_REDSHIFT = generic_rule("redshift-name", "Purview scans Redshift, but the form of its names is not public")
_REDSHIFT_HOST = re.compile(r"([^.:]+)\.[^.:]+\.([^.:]+)\.redshift(?:-serverless)?\.amazonaws\.com(?:\.cn)?(:\d+)?")


def _redshift(location: str, name: str) -> tuple[str, str]:
    address, table = as_table(location, name)
    host = _REDSHIFT_HOST.fullmatch(address)
    return f"{host[1]}.{host[2]}{host[3] or ':5439'}" if host else address, table


# --- Services whose data sets are generic, with the reason.

_DOCUMENTS = "a document in a store that no scan is known to find"

_GENERIC = {
    "awsathena": "Purview has no scan of Athena; a table's name in Glue comes first",
    "box": _DOCUMENTS,
    "filenet": _DOCUMENTS,
    "inmemory": "data in the memory of a job, which no catalog holds",
    "mssharepoint": _DOCUMENTS,
    "pubsub": "no scan of Pub/Sub is known",
}

STORES: tuple[StoreFamily, ...] = (
    StoreFamily(schemes=("snowflake",), fold=_snowflake, rules=_SNOWFLAKE),
    StoreFamily(schemes=("bigquery",), fold=_bigquery, rules=(_BIGQUERY,)),
    StoreFamily(schemes=("azurecosmos",), fold=_cosmos, rules=(_COSMOS,)),
    StoreFamily(schemes=("azurekusto",), fold=_kusto, rules=_KUSTO),
    StoreFamily(schemes=("kafka",), rules=(_KAFKA,)),
    StoreFamily(schemes=("redshift",), fold=_redshift, rules=(_REDSHIFT,)),
    *(
        StoreFamily(schemes=(scheme,), rules=(generic_rule(f"{scheme}-name", reason),), fallback=True)
        for scheme, reason in _GENERIC.items()
    ),
    *_CATALOGS,
)
