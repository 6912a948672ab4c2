"""Canonical identities: the spellings of one data set are one, and different data sets stay different.

The spellings of databases (and more of them) are in test_naming.py.
"""

import pytest

from shared.naming.names import canonical, is_noise
from shared.naming.stores.families import NO_ENVIRONMENT, Identity, RunEnvironment

LAKE = "abfss://lake@contoso.dfs.core.windows.net"
BLOB = "wasbs://landing@contoso.blob.core.windows.net"

SAME: dict[str, tuple[tuple[str, str], list[tuple[str, str]]]] = {
    "local": (
        ("file", "/data/t"),
        [
            ("file", "/data/t/"),
            ("file", "//data//t"),
            ("file", "data/t"),
            ("file:", "/data/t"),
            ("file:/", "/data/t"),
            ("file://", "/data/t"),
            ("file:///", "data/t"),
            ("FILE://", "/data/t"),
        ],
    ),
    "lake, old and new listener": (
        (LAKE, "raw/orders"),
        [
            (LAKE, "/raw/orders"),
            (LAKE, "/raw/orders/"),
            (LAKE, "raw//orders"),
            ("abfs://lake@contoso.dfs.core.windows.net", "/raw/orders"),
            ("abfss://lake@contoso.dfs.core.windows.net/", "raw/orders"),
            ("ABFSS://Lake@Contoso.DFS.core.windows.net", "raw/orders"),
        ],
    ),
    "lake, its root": ((LAKE, ""), [(LAKE, "/"), (LAKE, "//")]),
    "blob": (
        (BLOB, "export"),
        [("wasb://landing@contoso.blob.core.windows.net", "/export"), (BLOB.upper(), "export/")],
    ),
    "partition directories": (
        (LAKE, "raw/orders"),
        [
            (LAKE, "raw/orders/day=2024-05-01"),
            (LAKE, "/raw/orders/year=2024/month=05/"),
            (LAKE, "raw/orders/day=__HIVE_DEFAULT_PARTITION__"),
            (LAKE, "raw/orders/name=a%2Fb c"),
            (LAKE, "raw/orders/empty="),
            (LAKE, "raw/orders/=nameless"),
        ],
    ),
    "part files": (
        ("file", "/data/t"),
        [
            ("file", "/data/t/part-00000"),
            ("file", "/data/t/part-00000-6f1c.c000.snappy.parquet"),
            ("file", "/data/t/day=1/part-00012-6f1c.csv"),
            ("file", "/data/t/part-00000.gz"),
            ("file", "/data/t/part-r-00000"),
            ("file", "/data/t/part-m-00003.gz.parquet"),
            ("file", "/data/t/2024/05/01/part-00000-6f1c.json"),
        ],
    ),
    "s3": (("s3://bucket", "t"), [("s3a://bucket", "t"), ("s3n://Bucket", "/t/")]),
    "hdfs": (("hdfs://nn:8020", "warehouse/t"), [("HDFS://NN:8020/", "/warehouse/t")]),
    "dbfs": (
        ("dbfs", "/user/hive/warehouse/t"),
        [("dbfs:", "/user/hive/warehouse/t/"), ("dbfs://", "user/hive/warehouse/t")],
    ),
    "database": (
        ("postgres://host:5432", "db.public.T"),
        [("POSTGRES://Host:5432/", "db.public.T"), ("postgres://host:5432", "/db.public.T/")],
    ),
    "database behind the authority": (
        ("azurecosmos://acct.documents.azure.com/dbs/Shop", "colls/Orders"),
        [("azurecosmos://Acct.documents.azure.com/dbs/Shop/", "/colls/Orders")],
    ),
    "no authority": (("bigquery", "p.d.t"), [("bigquery", "/p.d.t")]),
}
SPELLINGS = [(name, spelling) for name, (_, spellings) in SAME.items() for spelling in spellings]


@pytest.mark.parametrize(
    ("name", "spelling"), SPELLINGS, ids=[f"{name}: {ns} {path}" for name, (ns, path) in SPELLINGS]
)
def test_all_spellings_of_one_data_set_have_one_identity(name: str, spelling: tuple[str, str]) -> None:
    folded, _ = SAME[name]
    assert canonical(*spelling) == canonical(*folded) == Identity(namespace=folded[0], name=folded[1])


DIFFERENT = {
    "case of a path": ((LAKE, "raw/Orders"), (LAKE, "raw/orders")),
    "containers": ((LAKE, "t"), ("abfss://lake2@contoso.dfs.core.windows.net", "t")),
    "lake and blob": ((LAKE, "t"), (BLOB, "t")),
    "a percent sign and what it could mean": ((LAKE, "a%20b"), (LAKE, "a b")),
    "a folder that is really called so": (("file", "/in/real%20percent"), ("file", "/in/real percent")),
    "plus and blank": ((LAKE, "a+b"), (LAKE, "a b")),
    "folder and its neighbour": ((LAKE, "raw/orders"), (LAKE, "raw/orders2")),
    "a folder that only looks like a part file": ((LAKE, "raw/part-1"), (LAKE, "raw")),
    "a file that a user named": (("file", "/in/customers.csv"), ("file", "/in")),
    "a partition in the middle": ((LAKE, "raw/day=1/t"), (LAKE, "raw/t")),
    "databases": (("postgres://h:5432", "Db.t"), ("postgres://h:5432", "db.t")),
    "databases behind the authority": (("azurecosmos://a/dbs/X", "c"), ("azurecosmos://a/dbs/x", "c")),
    "a database's k=v is no partition": (("kafka://h:9092", "a/k=v"), ("kafka://h:9092", "a")),
    "a year alone": ((LAKE, "raw/2024"), (LAKE, "raw")),
    "two equals signs": ((LAKE, "raw/a=b=c"), (LAKE, "raw")),
    "databases on one server": (("sqlserver://h;database=a", "dbo.t"), ("sqlserver://h;database=b", "dbo.t")),
    "schemas": (("sqlserver://h", "db.a.t"), ("sqlserver://h", "db.b.t")),
    "a point in a name": (("sqlserver://h", "db.dbo.[a.b]"), ("sqlserver://h", "db.a.b")),
    "instances": (("sqlserver://h/a", "db.dbo.t"), ("sqlserver://h", "db.dbo.t")),
    "ports": (("postgres://h:5433", "d.s.t"), ("postgres://h", "d.s.t")),
    "machines": (("file", "/data"), ("file://host", "/data")),
}


@pytest.mark.parametrize(("first_name", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_different_data_sets_stay_different(first_name: tuple[str, str], other: tuple[str, str]) -> None:
    assert canonical(*first_name) != canonical(*other)


@pytest.mark.parametrize("name", ["day=1", "/day=1/", "part-00000", "day=1/hour=2"])
def test_a_path_is_never_trimmed_to_nothing(name: str) -> None:
    assert canonical("file", name).name in {"/day=1", "/part-00000"}


ARABIC = "\u0662\u0660\u0662\u0664-\u0660\u0665-\u0660\u0661"
"""2024-05-01, in Arabic digits."""

TRIMMED: tuple[tuple[str, str], ...] = (
    ("raw/orders/2024-05-01", "raw/orders"),
    ("raw/orders/2024/05/01", "raw/orders"),
    ("raw/orders/2024/05", "raw/orders"),
    ("raw/orders/2024", "raw/orders/2024"),
    ("raw/20240501", "raw"),
    ("raw/202405", "raw"),
    ("raw/2024-05", "raw"),
    ("raw/orders/day=1/2024-05-01", "raw/orders"),
    ("raw/orders/2024/05/01/day=1", "raw/orders"),
    ("raw/orders/20240501T120000Z", "raw/orders"),
    ("raw/orders/2024-05-01 12:00:00", "raw/orders"),
    ("raw/orders/01.05.2024", "raw/orders"),
    ("raw/2024/05/01/k=v/2024-01", "raw"),
    ("raw/20240501-20240502", "raw"),
    ("raw/x/20240230", "raw/x"),
    ("raw/x/2023/02/30", "raw/x"),
    ("raw/x/202/305/01", "raw/x"),
    ("raw/x/20240501123456", "raw/x"),
    ("raw/x/T20240501", "raw/x"),
    ("raw/a=b=c", "raw/a=b=c"),
    ("a=b", "a=b"),
    ("2024/05/01", "2024/05/01"),
    ("x/2024/13/01", "x/2024/13/01"),
    ("raw/20241301", "raw/20241301"),
    ("raw/12345678", "raw/12345678"),
    ("raw/2024-5-1", "raw/2024-5-1"),
    ("raw/orders_2024-05-01", "raw/orders_2024-05-01"),
    ("raw/2024-05-01/12", "raw/2024-05-01/12"),
    ("raw/0000-01-01", "raw/0000-01-01"),
    ("raw/x/202400", "raw/x/202400"),
    ("raw/x/000001", "raw/x/000001"),
    ("raw/x/1234520240501", "raw/x/1234520240501"),
    ("raw/x/2024-05-01TT", "raw/x/2024-05-01TT"),
    ("raw/x/20230532", "raw/x/20230532"),
    ("raw/x/12023-05", "raw/x/12023-05"),
    ("raw/x/2023/2/3", "raw/x/2023/2/3"),
    ("raw/d=2024/05/01", "raw/d=2024/05/01"),
    (f"raw/x/{ARABIC}", f"raw/x/{ARABIC}"),
)
"""Names, and what listener 1.53's own trimmers made of them."""


@pytest.mark.parametrize(("name", "trimmed"), TRIMMED)
def test_names_are_trimmed_as_newer_listeners_trim_them(name: str, trimmed: str) -> None:
    assert canonical(LAKE, name).name == trimmed
    assert canonical(LAKE, f"/{name}/") == canonical(LAKE, trimmed)
    assert canonical("file", f"/{name}").name == f"/{trimmed}"


# --- mounts

LAKE_AT = RunEnvironment(
    mounts=(("/mnt/x", LAKE), ("/mnt/x/y/", f"{BLOB}/in/"), ("/", "DatabricksRoot"), ("/mnt/z", ""))
)
MOUNTED: dict[str, tuple[tuple[str, str], tuple[str, str]]] = {
    "a mount": (("dbfs", "/mnt/x/t"), (LAKE, "t")),
    "its point": (("dbfs", "/mnt/x"), (LAKE, "")),
    "the longest": (("dbfs", "/mnt/x/y/t/day=1"), (BLOB, "in/t")),
    "the longest's point": (("dbfs", "//mnt/x/y/"), (BLOB, "in")),
    "a neighbour": (("dbfs", "/mnt/xx/t"), ("dbfs", "/mnt/xx/t")),
    "seen by the driver": (("file", "/dbfs/mnt/x/t"), (LAKE, "t")),
    "marked as local": (("file:", "/mnt/x/t"), (LAKE, "t")),
    "the driver's own": (("file", "/data/t"), ("file", "/data/t")),
    "the root that the driver sees": (("file", "/dbfs/t"), ("dbfs", "/t")),
    "a source without an address": (("dbfs", "/mnt/z/t"), ("dbfs", "/mnt/z/t")),
    "another store": ((LAKE, "/mnt/x/t"), (LAKE, "mnt/x/t")),
    "a machine's own": (("file://host", "/mnt/x/t"), ("file://host", "mnt/x/t")),
}


@pytest.mark.parametrize(("spelling", "source"), MOUNTED.values(), ids=MOUNTED)
def test_a_mounted_path_has_the_identity_of_its_source(spelling: tuple[str, str], source: tuple[str, str]) -> None:
    folded = canonical(*spelling, LAKE_AT)
    assert folded == canonical(*source) == Identity(namespace=source[0], name=source[1])
    assert canonical(folded.namespace, folded.name, LAKE_AT) == folded


def test_paths_are_unchanged_without_a_known_mount() -> None:
    assert (
        canonical("dbfs", "/mnt/x/t")
        == canonical("dbfs", "/mnt/x/t", NO_ENVIRONMENT)
        == canonical("dbfs:/", "mnt/x/t", RunEnvironment())
    )
    assert canonical("file", "/dbfs/t") == Identity(namespace="file", name="/dbfs/t")


# --- noise

NOISE = (
    "/data/t/_delta_log",
    "/data/t/_delta_log/00000000000000000000.json",
    "/data/t/_delta_log/00000000000000000010.checkpoint.parquet",
    "/data/t/_change_data/cdc-00000-a.parquet",
    "/data/t/_temporary/0",
    "/data/t/_temporary/0/_temporary/attempt_1/day=1/part-00000.parquet",
    "/data/t/__magic_job-1/tasks",
    "/data/t/_spark_metadata",
    "/data/t/_spark_metadata/0",
    "/data/t/_checkpoint",
    "/data/t/_checkpoints/offsets/0",
    "/data/checkpoint/commits/3",
    "/data/checkpoints/state/0/1/1.delta",
    "/data/t/_SUCCESS",
    "/data/t/_metadata",
    "/data/t/_common_metadata",
    "/data/t/_committed_123",
    "/data/t/_started_123",
    "/data/t/.hoodie/x",
    "/data/t/.spark-staging-3f2504e0-4f89-41d3-9a0c-0305e82c3301/day=1",
    "/data/t/.hive-staging_hive_2024-05-01_12-00-00_000_1-1/-ext-10000",
    "/user/u/.sparkStaging/application_1_1",
    "/data/t/metadata/00001-a.metadata.json",
    "/data/t/metadata/00001-a.gz.metadata.json",
    "/data/t/metadata/snap-1-1-a.avro",
    "/data/t/metadata/a-m0.avro",
    "/data/t/metadata/version-hint.text",
)
NO_NOISE = (
    "/data/t",
    "/data/delta_log",
    "/data/_delta_logs",
    "/data/my_temporary",
    "/data/_temporary_2",
    "/data/checkpoint",
    "/data/checkpoint/mine",
    "/data/SUCCESS",
    "/data/_customers",
    "/data/metadata",
    "/data/metadata/customers.json",
    "/data/staging",
    "/data/hive-staging",
    "/data/.hidden",
)


@pytest.mark.parametrize("name", NOISE)
def test_a_writers_bookkeeping_is_noise(name: str) -> None:
    assert is_noise(canonical("file", name))
    assert is_noise(canonical(LAKE, name))


@pytest.mark.parametrize("name", NO_NOISE)
def test_names_chosen_by_users_are_no_noise(name: str) -> None:
    assert not is_noise(canonical("file", name))


def test_only_paths_have_bookkeeping() -> None:
    assert not is_noise(canonical("kafka://h:9092", "a/_temporary"))
