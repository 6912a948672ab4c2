"""No password, key or signature in a spelling is passed on, and none changes the identity of the data set."""

import pytest

from shared.naming.names import canonical, explain
from shared.naming.stores import STORES
from shared.naming.stores.families import RunEnvironment
from shared.secrets import parameter_without_secrets, without_secrets

SECRET = "S3cr3t"  # noqa: S105 - it opens nothing
SAS = f"sv=2024-11-04&se=2026-11-21T00%3A00%3A00Z&sr=c&sig={SECRET}%2B/{SECRET}%3D"
AWS = f"X-Amz-Credential={SECRET}&X-Amz-Date=20261121T000000Z&X-Amz-Signature={SECRET}"
LOGIN = f"user=ann&password={SECRET}"
LAKE = "abfss://lake@contoso.dfs.core.windows.net"
BLOB = "wasbs://landing@contoso.blob.core.windows.net"
SQL, TABLE = "sqlserver://srv.database.windows.net:1433", "db.dbo.t"
ORACLE = "(description=(address=(host=h)(port=1521))(connect_data=(service_name=svc)))"

CASES: tuple[tuple[tuple[str, str], tuple[tuple[str, str], ...]], ...] = (
    # a data set, and its spellings with a secret in them
    (
        (LAKE, "raw/t"),
        ((LAKE, f"raw/t?{SAS}"), (LAKE, f"/raw/t/?{SAS}"), (f"{LAKE}?{SAS}", "raw/t"), (LAKE, f"raw/t?{AWS}")),
    ),
    ((LAKE, ""), ((LAKE, f"?{SAS}"), (LAKE, f"/?{SAS}"))),
    ((BLOB, "t"), ((BLOB, f"t?{SAS}"), (f"{BLOB}?{SAS}", "t"))),
    (
        ("abfss://sales@onelake.dfs.fabric.microsoft.com", "shop.Lakehouse/Tables/t"),
        (("abfss://sales@onelake.dfs.fabric.microsoft.com", f"shop.Lakehouse/Tables/t?{SAS}"),),
    ),
    (
        ("adl://contoso.azuredatalakestore.net", "t"),
        (
            (f"adl://ann:{SECRET}@contoso.azuredatalakestore.net", "t"),
            ("adl://contoso.azuredatalakestore.net", f"t?{SAS}"),
        ),
    ),
    (("file", "/t"), ((f"file://ann:{SECRET}@", "/t"), ("file", f"/t?{SAS}"))),
    (("file://h", "/t"), ((f"file://ann:{SECRET}@h", "/t"),)),
    (("dbfs", "/t"), (("dbfs", f"/t?{SAS}"),)),
    (("hdfs://nn:8020", "t"), ((f"hdfs://ann:{SECRET}@nn:8020", "t"),)),
    (
        ("s3://b", "t"),
        (
            (f"s3a://KEY:{SECRET}@b", "t"),
            (f"s3n://KEY:{SECRET}%2F@b", "t"),
            (f"s3a://KEY:a/{SECRET}@b", "t"),
            ("s3a://KEY:a", f"{SECRET}@b/t"),
            ("s3a://b", f"t?{AWS}"),
        ),
    ),
    (("gs://b", "t"), ((f"gs://ann:{SECRET}@b", "t"), ("gs://b", f"t?X-Goog-Signature={SECRET}"))),
    (("oss://b", "t"), ((f"oss://KEY:{SECRET}@b", "t"), ("oss://KEY:a", f"{SECRET}@b/t"))),
    (("sftp://h", "t"), ((f"sftp://ann:{SECRET}@h", "t"),)),
    (
        (SQL, TABLE),
        (
            (f"{SQL};database=db;user=ann;password={SECRET};encrypt=true", "dbo.t"),
            (f"{SQL};user=ann;password={{{SECRET};database=x}};databaseName=db", "dbo.t"),
            (f"jdbc:{SQL};databaseName=db;accessToken={SECRET}", "dbo.t"),
            (f"{SQL}?{LOGIN}", TABLE),
            (SQL.replace("//", f"//ann:{SECRET}@"), TABLE),
        ),
    ),
    (
        ("postgres://h:5432", "db.s.t"),
        (
            (f"postgresql://h/db?{LOGIN}&ssl=true", "s.t"),
            (f"postgresql://h/db;user=ann;password={SECRET};ssl=true", "s.t"),
            (f"jdbc:postgresql://ann:{SECRET}@h:5432/db", "s.t"),
            (f"postgres://ann:a@{SECRET}@h", "db.s.t"),
        ),
    ),
    (("mysql://h:3306", "db.t"), ((f"mysql://ann:{SECRET}@h/db?{LOGIN}", "t"), (f"mysql://h?{LOGIN}", "db.t"))),
    (
        ("oracle://h:1521", "svc.s.t"),
        (
            (f"oracle:thin:ann/{SECRET}@//h:1521/svc", "s.t"),
            (f"oracle:thin:ann/{SECRET}@h:1521:svc", "s.t"),
            (f"oracle:thin:ann/{SECRET}@{ORACLE}", "s.t"),
            (f"oracle://ann:{SECRET}@h:1521", "svc.s.t"),
        ),
    ),
    (
        ("snowflake://org-acct", "D.S.T"),
        (
            (f"snowflake://org-acct.snowflakecomputing.com/?{LOGIN}&db=D", "D.S.T"),
            (f"snowflake://org-acct?db=D&{LOGIN}", "D.S.T"),
            (f"snowflake://ann:{SECRET}@org-acct", "D.S.T"),
        ),
    ),
    (
        ("bigquery", "p.d.t"),
        ((f"bigquery://https://www.googleapis.com/bigquery/v2:443;ProjectId=p;OAuthPvtKey={SECRET}", "p.d.t"),),
    ),
    (
        ("azurecosmos://a.documents.azure.com/dbs/d", "/colls/c"),
        ((f"azurecosmos://a.documents.azure.com/dbs/d;AccountKey={SECRET}==", "/colls/c"),),
    ),
    (
        ("azurekusto://c.kusto.windows.net/d", "t"),
        (
            (f"azurekusto://c.kusto.windows.net/d;Fed=true;AppKey={SECRET}", "t"),
            (f"azurekusto://c.kusto.windows.net/d?token={SECRET}", "t"),
        ),
    ),
    (("kafka://h:9092", "t"), ((f"kafka://ann:{SECRET}@h:9092", "t"), (f"kafka://h:9092?sasl.password={SECRET}", "t"))),
    (("hive://h:9083", "d.t"), ((f"hive://ann:{SECRET}@h:9083", "d.t"), (f"hive://h:9083;password={SECRET}", "d.t"))),
    (
        ("unitycatalog://h:8080", "c.s.t"),
        ((f"unitycatalog://h:8080?token={SECRET}", "c.s.t"), (f"unitycatalog://ann:{SECRET}@h:8080", "c.s.t")),
    ),
    (("unity-catalog", "c.s.t"), ((f"unity-catalog?token={SECRET}", "c.s.t"),)),
    (("https://h/api", "d.t"), ((f"https://ann:{SECRET}@h/api?token={SECRET}", "d.t"),)),
    (("viewfs://c", "t"), ((f"viewfs://ann:{SECRET}@c", "t"),)),
    # stores that no rule knows
    (("mongodb+srv://h/db", "c"), ((f"mongodb+srv://ann:{SECRET}@h/db?authSource=admin", "c"),)),
    (("redis://h:6379", "k"), ((f"redis://:{SECRET}@h:6379", "k"),)),
    (("redshift://h/db?ssl=true", "s.t"), ((f"jdbc:redshift://h/db?ssl=true&{LOGIN}", "s.t"),)),
    (("redshift://h/db", "s.t"), ((f"redshift://h/db;UID=ann;PWD={SECRET}", "s.t"),)),
    (("duckdb:///data/db", "s.t"), ((f"duckdb:/data/db?password={SECRET}", "s.t"),)),
    (("databricks://h", "c.s.t"), ((f"databricks://token:{SECRET}@h:443;UID=token;PWD={SECRET}", "c.s.t"),)),
    (("spark://h:10000", "s.t"), ((f"spark://ann:{SECRET}@h:10000", "s.t"),)),
    (("arn:aws:glue:eu-west-1:1", "table/s/t"), ((f"arn:aws:glue:eu-west-1:1?password={SECRET}", "table/s/t"),)),
    (("db2://h:50000/db", "s.t"), ((f"db2://h:50000/db:user=ann;password={SECRET};", "s.t"),)),
    (("db2://h:50000", "db.s.t"), (("db2://h:50000", f"db:user=ann;pass={SECRET};.s.t"),)),
    (("teradata://h/DATABASE=d", "t"), ((f"teradata://h/DATABASE=d,USER=ann,PASSWORD={SECRET}", "t"),)),
    (
        ("Endpoint=sb://ns.servicebus.windows.net/;EntityPath=hub", "t"),
        ((f"Endpoint=sb://ns.servicebus.windows.net/;SharedAccessKey={SECRET}=;EntityPath=hub", "t"),),
    ),
)
FALLBACKS = {store.schemes[0] for store in STORES if store.fallback}
"""They normalise alike: one stands for all."""
SPELLINGS = [(dataset, spelling) for dataset, spellings in CASES for spelling in spellings]


@pytest.mark.parametrize(("dataset", "spelling"), SPELLINGS, ids=lambda pair: pair[0][:48])
def test_a_secret_changes_no_identity_and_is_shown_nowhere(dataset: tuple[str, str], spelling: tuple[str, str]) -> None:
    explanation = explain(*spelling)
    assert (explanation.identity, explanation.naming) == (canonical(*dataset), explain(*dataset).naming)
    assert SECRET.lower() not in repr(explanation).lower()
    assert SECRET.lower() not in repr(without_secrets(*spelling)).lower()


def test_every_family_of_stores_has_a_case() -> None:
    """A new store needs a case here too: its own file decides how the remaining address is handled."""
    schemes = {canonical(*dataset).namespace.partition(":")[0] for dataset, _ in CASES}
    missing = {store.schemes[0] for store in STORES} - schemes
    assert missing <= {"http", *FALLBACKS}


@pytest.mark.parametrize(
    "source",
    [f"s3a://KEY:{SECRET}@b/in", f"s3a://KEY:a/{SECRET}@b/in", f"{BLOB}/in?{SAS}", f"{BLOB}?{SAS}"],
)
def test_the_source_of_a_mount_is_shown_without_its_secret(source: str) -> None:
    explanation = explain("dbfs", "/mnt/x/t", environment=RunEnvironment(mounts=(("/mnt/x", source),)))
    assert SECRET.lower() not in repr(explanation).lower()
    assert explanation.identity.name.endswith("t")


@pytest.mark.parametrize(
    ("namespace", "name"),
    [
        (LAKE, "users/ann@example.com/t"),
        ("s3a://b", "users/ann@example.com/t"),
        ("s3a://b", "what?/key=1/t"),
        ("sqlserver://h:1433;database=db", "dbo.t"),
        ("oracle:thin:@//h:1521/svc", "s.t"),
        ("teradata://h/DATABASE=d", "t"),
        ("kafka://h1:9092,h2:9092", "t"),
        ("file", "/a?b=c"),
    ],
)
def test_spellings_without_a_secret_are_unchanged(namespace: str, name: str) -> None:
    assert without_secrets(namespace, name) == (namespace, name)


@pytest.mark.parametrize(
    "piece", [";pass", ";password={", "oracle:a:", "?a&", "?x-amz-a", ",pass", ":user", "@", "=", "?;="]
)
def test_hostile_spellings_are_read_in_no_time(piece: str) -> None:
    """No pattern looks at a spelling's length squared: these would take hours."""
    long = piece * (200_000 // len(piece))
    for prefix in ("", "x://h/", "oracle:thin:", "s3a://k:", f"{LAKE}/"):
        without_secrets(prefix + long, long)
        without_secrets("s3a://k:v", prefix + long)


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("db.password", "hunter2 with blanks", "***"),
        ("db.password", "1234", "***"),
        ("db.password", ";x", "***"),
        ("api_key", "'quoted'", "***"),
        ("password", "", ""),
        ("max_tokens", "100", "100"),
        ("day", "2026-11-21", "2026-11-21"),
        ("url", "https://a/b?sig=abc", "https://a/b?sig=***"),
        ("config", '{"password": "hunter2"}', '{"password": ***}'),
    ],
)
def test_a_parameter_is_hidden_by_its_key_or_without_the_secrets_in_it(key: str, value: str, text: str) -> None:
    assert parameter_without_secrets(key, value) == text
