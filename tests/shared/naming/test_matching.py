"""The names under which a scan may have found a data set, and the search results that match: tables of examples."""

import pytest

from shared.naming.matching import candidates, rank, search_terms, underivable_names

LAKE, BLOB = "https://acct.dfs.core.windows.net/raw", "https://acct.blob.core.windows.net/raw"
PATH, SET = "azure_datalake_gen2_path", "azure_datalake_gen2_resource_set"
BLOB_PATH, BLOB_SET = "azure_blob_path", "azure_blob_resource_set"
SQL = "mssql://srv.database.windows.net/db/dbo"

STEPS: dict[str, tuple[tuple[str, str], list[list[tuple[str, str]]]]] = {
    "a folder of the lake": (
        (PATH, f"{LAKE}/a"),
        [
            [(SET, f"{LAKE}/a/{{SparkPartitions}}"), (PATH, f"{LAKE}/a"), (PATH, f"{LAKE}/a/")],
            [(BLOB_SET, f"{BLOB}/a/{{SparkPartitions}}"), (BLOB_PATH, f"{BLOB}/a"), (BLOB_PATH, f"{BLOB}/a/")],
        ],
    ),
    "a file system": (
        ("azure_datalake_gen2_filesystem", LAKE),
        [[("azure_datalake_gen2_filesystem", LAKE)], [("azure_blob_container", BLOB)]],
    ),
    "a table": (
        ("azure_sql_table", f"{SQL}/t"),
        [[("azure_sql_table", f"{SQL}/t"), ("azure_sql_view", f"{SQL}/t")], []],
    ),
    "a data set that no scan finds": (("DataSet", "gs://b/x"), [[("DataSet", "gs://b/x")], []]),
}


@pytest.mark.parametrize(("own_key", "steps"), STEPS.values(), ids=STEPS)
def test_candidate_names_come_in_the_expected_steps(
    own_key: tuple[str, str], steps: list[list[tuple[str, str]]]
) -> None:
    assert [[candidate.key for candidate in step] for step in candidates(*own_key)] == steps
    assert all(candidate.because for step in candidates(*own_key) for candidate in step)


def test_only_names_that_cannot_be_derived_are_kept() -> None:
    other_names = [
        (SET, f"{LAKE}/a/{{SparkPartitions}}"),
        ("hive_table", "d.t@h"),
        ("hive_view", "d.t@h"),
        (BLOB_PATH, f"{BLOB}/a"),
    ]
    assert underivable_names((PATH, f"{LAKE}/a"), other_names) == (("hive_table", "d.t@h"),)
    many = [("hive_table", f"d.t{number}@h") for number in range(1000)]
    assert underivable_names((PATH, f"{LAKE}/a"), many) == tuple(many[:8])


OURS = (PATH, f"{LAKE}/sales/7/orders")
TABLE = ("azure_sql_table", f"{SQL}/orders")
RANKS: dict[str, tuple[tuple[str, str], tuple[str, str], tuple[int, ...] | None]] = {
    "a resource set": (OURS, (SET, f"{LAKE}/sales/7/orders/{{SparkPartitions}}.parquet"), (3, 1, 1)),
    "one of days": (OURS, (SET, f"{LAKE}/sales/7/orders/{{Year}}/{{Month}}/{{Day}}/{{N}}.csv"), (3, 1, 1)),
    "one of numbers": (OURS, (SET, f"{LAKE}/sales/{{N}}/orders/{{SparkPartitions}}"), (3, 1, 0)),
    "one of partitions": (OURS, (SET, f"{LAKE}/sales/7/orders/day={{Year}}-{{Month}}/{{GUID}}"), (3, 1, 1)),
    "one by the other host": (OURS, (BLOB_SET, f"{BLOB}/sales/7/orders/{{SparkPartitions}}"), (3, 0, 1)),
    "a folder": (OURS, (PATH, f"{LAKE}/sales/7/orders/"), (2, 1, 1)),
    "a folder in other capitals": (OURS, (PATH, f"{LAKE}/Sales/7/ORDERS/"), (2, 1, 0)),
    "a part file": (OURS, (PATH, f"{LAKE}/sales/7/orders/part-00000-abc.snappy.parquet"), (1, 1, 1)),
    "another number": (OURS, (PATH, f"{LAKE}/sales/8/orders"), None),
    "another folder": (OURS, (PATH, f"{LAKE}/sales/7/orders2"), None),
    "another file in it": (OURS, (PATH, f"{LAKE}/sales/7/orders/notes.txt"), None),
    "the folder above": (OURS, (PATH, f"{LAKE}/sales/7"), None),
    "one deeper": (OURS, (SET, f"{LAKE}/old/sales/7/orders/{{SparkPartitions}}"), None),
    "a number where ours has text": (OURS, (SET, f"{LAKE}/{{N}}/7/orders/{{SparkPartitions}}"), None),
    "another account": (OURS, (PATH, "https://other.dfs.core.windows.net/raw/sales/7/orders"), None),
    "a name that is no path": (OURS, (PATH, "orders"), None),
    "a path without a host": (OURS, (PATH, "/sales/7/orders"), None),
    "a scheme alone": (OURS, (PATH, "https://"), None),
    "no name": (OURS, (PATH, ""), None),
    "another kind of thing": (OURS, ("azure_sql_table", f"{LAKE}/sales/7/orders"), None),
    "a table": (TABLE, TABLE, (1,)),
    "a table in other capitals": (TABLE, ("azure_sql_table", f"{SQL}/ORDERS"), (1,)),
    "a table in brackets": (TABLE, ("azure_sql_table", f"{SQL}/[orders]"), (1,)),
    "a view in other capitals": (TABLE, ("azure_sql_view", f"{SQL}/Orders"), (0,)),
    "another schema": (TABLE, ("azure_sql_table", "mssql://srv.database.windows.net/db/x/orders"), None),
    "another server's": (TABLE, ("azure_sql_table", "mssql://srv2.database.windows.net/db/dbo/orders"), None),
}


@pytest.mark.parametrize(("wanted_key", "found_key", "expected"), RANKS.values(), ids=RANKS)
def test_a_search_result_has_the_expected_rank(
    wanted_key: tuple[str, str], found_key: tuple[str, str], expected: tuple[int, ...] | None
) -> None:
    assert rank(wanted_key, found_key) == expected


WORDS: dict[str, tuple[tuple[str, str], str]] = {
    "a folder": ((PATH, f"{LAKE}/sales/order-items/"), "order items"),
    "a table of Hive": (("hive_table", "sales.orders@adb-1.2.azuredatabricks.net"), "sales orders"),
    "a data set that no scan finds": (("fs_path", "file:///data/orders"), ""),
    "a topic": (("kafka_topic", "kafka://b/orders"), ""),
    "a name without words": ((PATH, f"{LAKE}/---"), ""),
}


@pytest.mark.parametrize(("own_key", "query"), WORDS.values(), ids=WORDS)
def test_a_data_set_has_the_expected_search_terms(own_key: tuple[str, str], query: str) -> None:
    assert search_terms(*own_key) == query
