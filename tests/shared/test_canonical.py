"""Canonical identities: the spellings of one data set are one, and different data sets stay different."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.naming import Identity, canonical, is_noise

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
        ],
    ),
    "part files": (
        ("file", "/data/t"),
        [
            ("file", "/data/t/part-00000"),
            ("file", "/data/t/part-00000-6f1c.c000.snappy.parquet"),
            ("file", "/data/t/day=1/part-00012-6f1c.csv"),
            ("file", "/data/t/part-00000.gz"),
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
def test_spellings_of_one_data_set_are_one(name: str, spelling: tuple[str, str]) -> None:
    folded, _ = SAME[name]
    assert canonical(*spelling) == canonical(*folded) == Identity(namespace=folded[0], name=folded[1])


DIFFERENT = {
    "case of a path": ((LAKE, "raw/Orders"), (LAKE, "raw/orders")),
    "containers": ((LAKE, "t"), ("abfss://lake2@contoso.dfs.core.windows.net", "t")),
    "lake and blob": ((LAKE, "t"), (BLOB, "t")),
    "a percent sign and what it could mean": ((LAKE, "a%20b"), (LAKE, "a b")),
    "plus and blank": ((LAKE, "a+b"), (LAKE, "a b")),
    "folder and its neighbour": ((LAKE, "raw/orders"), (LAKE, "raw/orders2")),
    "a folder that only looks like a part file": ((LAKE, "raw/part-1"), (LAKE, "raw")),
    "a file that a user named": (("file", "/in/customers.csv"), ("file", "/in")),
    "a partition in the middle": ((LAKE, "raw/day=1/t"), (LAKE, "raw/t")),
    "databases": (("postgres://h:5432", "Db.t"), ("postgres://h:5432", "db.t")),
    "databases behind the authority": (("azurecosmos://a/dbs/X", "c"), ("azurecosmos://a/dbs/x", "c")),
    "a database's k=v is no partition": (("kafka://h:9092", "a/k=v"), ("kafka://h:9092", "a")),
    "machines": (("file", "/data"), ("file://host", "/data")),
}


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_different_data_sets_stay_different(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert canonical(*one) != canonical(*other)


@pytest.mark.parametrize("name", ["day=1", "/day=1/", "part-00000", "day=1/hour=2"])
def test_something_always_remains_of_a_path(name: str) -> None:
    assert canonical("file", name).name in {"/day=1", "/part-00000"}


NOISE = (
    "/data/t/_delta_log",
    "/data/t/_delta_log/00000000000000000000.json",
    "/data/t/_temporary/0",
    "/data/t/_spark_metadata",
    "/data/t/_checkpoint",
    "/data/t/_checkpoints/offsets/0",
    "/data/t/_SUCCESS",
    "/data/t/_committed_123",
    "/data/t/_started_123",
    "/data/t/.hoodie/x",
)
NO_NOISE = (
    "/data/t",
    "/data/delta_log",
    "/data/_delta_logs",
    "/data/my_temporary",
    "/data/_temporary_2",
    "/data/checkpoint",
    "/data/SUCCESS",
    "/data/_customers",
)


@pytest.mark.parametrize("name", NOISE)
def test_a_writers_bookkeeping_is_noise(name: str) -> None:
    assert is_noise(canonical("file", name))
    assert is_noise(canonical(LAKE, name))


@pytest.mark.parametrize("name", NO_NOISE)
def test_what_users_named_is_no_noise(name: str) -> None:
    assert not is_noise(canonical("file", name))


def test_only_paths_have_bookkeeping() -> None:
    assert not is_noise(canonical("kafka://h:9092", "a/_temporary"))


NAMESPACES = st.one_of(
    st.text(max_size=30), st.sampled_from(["file", "file:", "dbfs", LAKE, BLOB, "hdfs://nn", "s3a://B", "x://Y/Z"])
)


@given(NAMESPACES, st.text(alphabet="ab/=.-:% \n", max_size=30) | st.text(max_size=30))
def test_folding_once_is_enough(namespace: str, name: str) -> None:
    folded = canonical(namespace, name)
    assert canonical(folded.namespace, folded.name) == folded
