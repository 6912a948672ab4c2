"""The place of a logged data set, by each kind of source that MLflow has."""

import json
from typing import Any

import pytest

from throughline.models.sources import places_of
from throughline.models.training import LoggedDataset

WORKSPACE = "databricks://adb-1.2.azuredatabricks.net"
LAKE = "abfss://c@a.dfs.core.windows.net"


@pytest.mark.parametrize(
    ("kind", "source", "tables", "places"),
    [
        ("delta_table", {"path": f"{LAKE}/t", "delta_table_name": "db.t"}, "", [(LAKE, "t")]),
        ("delta_table", {"delta_table_name": "main.gold.t"}, WORKSPACE, [(WORKSPACE, "main.gold.t")]),
        ("spark", {"table_name": "`db`.`t`"}, "hive://h:9083", [("hive://h:9083", "db.t")]),
        ("spark", {"path": "dbfs:/mnt/t"}, "", [("dbfs", "/mnt/t")]),
        ("spark", {"path": "/mnt/t"}, WORKSPACE, [("dbfs", "/mnt/t")]),
        ("spark", {"path": "/data/t"}, "", [("file", "/data/t")]),
        (
            "spark",
            {"sql": f"table db.a union all table delta.`{LAKE}/b`".replace("table", "select x from")},
            "hive://h:9083",
            [("hive://h:9083", "db.a"), (LAKE, "b")],
        ),
        ("uc_volume", {"path": "/Volumes/main/raw/v/f.csv"}, WORKSPACE, [("dbfs", "/Volumes/main/raw/v/f.csv")]),
        ("s3", {"uri": "s3://b/f.csv"}, "", [("s3://b", "f.csv")]),
        ("local", {"uri": "file:///data/f.csv"}, "", [("file", "/data/f.csv")]),
        ("http", {"url": "https://h/f.csv?token=x"}, "", [("https://h", "f.csv")]),
        ("hugging_face", {"path": "org/set", "split": "train"}, "", [("hf://datasets", "org/set")]),
        ("local", {"uri": "data/f.csv"}, "", []),
        ("spark", {"sql": "select 1"}, WORKSPACE, []),
        ("spark", {"sql": "select x from t"}, "", []),
        ("code", {"tags": {}}, WORKSPACE, []),
    ],
)
def test_a_source_is_named_as_other_events_name_it(
    kind: str, source: dict[str, Any], tables: str, places: list[tuple[str, str]]
) -> None:
    dataset = LoggedDataset(name="d", digest="1", source_type=kind, source=json.dumps(source))
    named = places_of(dataset, tables)
    assert list(named.datasets) == places
    assert bool(named.unknown) is not bool(places), "else it says why"
