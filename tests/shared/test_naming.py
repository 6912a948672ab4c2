"""Naming: data sets as the catalog calls them, and what becomes of hostile names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.naming import RULES, canonical, name_dataset

LAKE = "abfss://lake@contoso.dfs.core.windows.net"
BLOB = "wasbs://landing@contoso.blob.core.windows.net"
ONELAKE = "abfss://sales@onelake.dfs.fabric.microsoft.com"
FABRIC = "https://app.fabric.microsoft.com/groups"
WORKSPACE, LAKEHOUSE = "0f3b8a52-64c1-4a0b-9d8e-2f6f2a0c7b11", "9d2c4e10-1111-4222-8333-444455556666"
BY_ID = f"abfss://{WORKSPACE}@onelake.dfs.fabric.microsoft.com"

NAMED: dict[str, tuple[str, str, str, str, str]] = {
    "local folder": ("file", "/data/t", "local-path", "fs_path", "file:///data/t"),
    "local folder, another spelling": ("file://", "/data/t/", "local-path", "fs_path", "file:///data/t"),
    "local root": ("file", "/", "local-path", "fs_path", "file:///"),
    "local file of another machine": ("file://Node1", "/data/t", "host-path", "fs_path", "file://node1/data/t"),
    "lake": (
        LAKE,
        "raw/orders",
        "adls-path",
        "azure_datalake_gen2_path",
        "https://contoso.dfs.core.windows.net/lake/raw/orders",
    ),
    "lake, old listener": (
        "abfs://lake@contoso.dfs.core.windows.net",
        "/raw/orders/",
        "adls-path",
        "azure_datalake_gen2_path",
        "https://contoso.dfs.core.windows.net/lake/raw/orders",
    ),
    "lake by its blob host": (
        "abfss://lake@contoso.blob.core.windows.net",
        "raw",
        "adls-path",
        "azure_datalake_gen2_path",
        "https://contoso.dfs.core.windows.net/lake/raw",
    ),
    "lake, partition": (
        LAKE,
        "/raw/orders/year=2024/month=05/part-00000-a.c000.parquet",
        "adls-path",
        "azure_datalake_gen2_path",
        "https://contoso.dfs.core.windows.net/lake/raw/orders",
    ),
    "lake, its file system": (
        LAKE,
        "/",
        "adls-filesystem",
        "azure_datalake_gen2_filesystem",
        "https://contoso.dfs.core.windows.net/lake",
    ),
    "blob": (
        BLOB,
        "export/orders",
        "blob-path",
        "azure_blob_path",
        "https://contoso.blob.core.windows.net/landing/export/orders",
    ),
    "blob without s": (
        "wasb://landing@contoso.blob.core.windows.net",
        "/export",
        "blob-path",
        "azure_blob_path",
        "https://contoso.blob.core.windows.net/landing/export",
    ),
    "blob, its container": (
        BLOB,
        "",
        "blob-container",
        "azure_blob_container",
        "https://contoso.blob.core.windows.net/landing",
    ),
    "lakehouse table by names": (
        ONELAKE,
        "shop.Lakehouse/Tables/orders",
        "onelake-table",
        "fabric_lakehouse_table",
        f"{FABRIC}/sales/lakehouses/shop/tables/orders",
    ),
    "lakehouse table by ids": (
        BY_ID,
        f"{LAKEHOUSE}/Tables/orders",
        "onelake-table",
        "fabric_lakehouse_table",
        f"{FABRIC}/{WORKSPACE}/lakehouses/{LAKEHOUSE}/tables/orders",
    ),
    "lakehouse table, old listener, a region's host, a partition": (
        f"abfs://{WORKSPACE}@westeurope-onelake.dfs.fabric.microsoft.com",
        f"/{LAKEHOUSE}/Tables/orders/day=1",
        "onelake-table",
        "fabric_lakehouse_table",
        f"{FABRIC}/{WORKSPACE}/lakehouses/{LAKEHOUSE}/tables/orders",
    ),
    "lakehouse table in a schema": (
        BY_ID,
        f"{LAKEHOUSE}/Tables/dbo/orders",
        "onelake-schema-table",
        "fabric_lakehouse_table",
        f"{FABRIC}/{WORKSPACE}/lakehouses/{LAKEHOUSE}/tables/dbo%252Forders",
    ),
    "lakehouse files": (
        ONELAKE,
        "shop.Lakehouse/Files/in/a b.csv",
        "onelake-path",
        "azure_datalake_gen2_path",
        "https://onelake.dfs.fabric.microsoft.com/sales/shop.Lakehouse/Files/in/a b.csv",
    ),
    "blanks, unicode, percent signs": (
        LAKE,
        "test zone/Straße/100%/日本",
        "adls-path",
        "azure_datalake_gen2_path",
        "https://contoso.dfs.core.windows.net/lake/test zone/Straße/100%/日本",
    ),
    "control characters": (
        LAKE,
        "a\nb\x00c\x7f",
        "adls-path",
        "azure_datalake_gen2_path",
        "https://contoso.dfs.core.windows.net/lake/a%0Ab%00c%7F",
    ),
    "braces are no template": ("file", "/{path}/{0}", "local-path", "fs_path", "file:///{path}/{0}"),
    "unknown store": ("kafka://h:9092", "orders", "unknown-store", "DataSet", "kafka://h:9092/orders"),
    "unknown scheme-less store": ("bigquery", "p.d.t", "unknown-store", "DataSet", "bigquery/p.d.t"),
    "unknown account": ("abfss://c@minio.local", "/t", "unknown-store", "DataSet", "abfss://c@minio.local/t"),
    "dbfs": ("dbfs", "/mnt/x", "unknown-store", "DataSet", "dbfs/mnt/x"),
    "hdfs": ("hdfs://nn:8020", "/a/b", "unknown-store", "DataSet", "hdfs://nn:8020/a/b"),
    "nothing at all": ("", "", "unknown-store", "DataSet", "/"),
    "a table that only a metastore knows": (
        "hive://adb-1.2.azuredatabricks.net",
        "sales.orders",
        "hive-table",
        "hive_table",
        "sales.orders@adb-1.2.azuredatabricks.net",
    ),
}


@pytest.mark.parametrize(("namespace", "name", "rule", "kind", "qualified_name"), NAMED.values(), ids=NAMED)
def test_a_data_sets_type_and_name(namespace: str, name: str, rule: str, kind: str, qualified_name: str) -> None:
    best = name_dataset(canonical(namespace, name)).best
    assert (best.rule, best.type, best.qualified_name) == (rule, kind, qualified_name)


def test_every_rule_has_a_case() -> None:
    assert {rule.name for rule in RULES} <= {rule for _, _, rule, _, _ in NAMED.values()}


HIVE = ("hive://metastore:9083", "sales.orders")


def test_a_location_comes_before_a_tables_name() -> None:
    """The same data, read by path and by table, must be one asset."""
    identity = canonical(LAKE, "raw/orders")
    named = name_dataset(identity, [HIVE])
    assert named.best == name_dataset(identity).best
    assert [other.qualified_name for other in named.others] == ["sales.orders@metastore"]


def test_a_tables_name_counts_where_the_location_says_nothing() -> None:
    named = name_dataset(canonical("s3://bucket", "orders"), [("file:/warehouse", "default.t"), HIVE])
    assert (named.best.type, named.best.qualified_name) == ("hive_table", "sales.orders@metastore")
    assert named.others == ()


def test_symlinks_without_a_rule_change_nothing() -> None:
    identity = canonical("file", "/data/warehouse/t")
    assert name_dataset(identity, [("file:/data/warehouse", "default.t")]) == name_dataset(identity)


@pytest.mark.parametrize("namespace", ["file", LAKE, BLOB, ONELAKE, "unknown"])
def test_names_are_bounded_and_stay_apart(namespace: str) -> None:
    """An Atlas takes longer with the square of a name's length; what is cut ends in a digest of the whole."""
    long = [name_dataset(canonical(namespace, "a" * 100_000 + end)).best.qualified_name for end in "xy"]
    assert all(len(name) == 2000 for name in long)
    assert long[0] != long[1]


def test_names_as_long_as_a_store_allows_are_whole() -> None:
    longest = "/".join(["d" * 99] * 10) + "x" * 24
    assert len(longest) > 1000
    assert name_dataset(canonical(LAKE, longest)).best.qualified_name.endswith(longest)


@pytest.mark.parametrize("namespace", ["hive://h/" + "\n" * 200_000, "hive://h", LAKE, ONELAKE])
def test_hostile_names_are_read_in_no_time(namespace: str) -> None:
    """No pattern looks at a name's length squared: these would take hours."""
    for name in ("x" * 200_000, "/Tables" * 50_000, "a.Lakehouse" * 20_000, "=" * 200_000, "\n" * 200_000):
        assert len(name_dataset(canonical(namespace, name), [(namespace, name)]).best.qualified_name) <= 2000


@given(st.text(max_size=40), st.text(max_size=40))
def test_whatever_is_sent_gets_a_printable_name(namespace: str, name: str) -> None:
    best = name_dataset(canonical(namespace, name), [(name, namespace)]).best
    assert best.qualified_name.isprintable()
    assert best.qualified_name
    assert best.type
