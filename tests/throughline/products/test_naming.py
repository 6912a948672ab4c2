"""The data set of a contract's table by the contract's server, and every table without a certain place."""

import pytest

from shared.naming.names import BUILT_IN
from throughline.contracts.reading import parse_contract
from throughline.locations import dataset_at
from throughline.products.naming import promised_assets, twice_promised

HEAD = "apiVersion: v3.1.0\nkind: DataContract\nid: c\nname: c\nversion: 1.0.0\nstatus: active\n"
ONE = "schema: [{name: orders}]\n"
LAKE = "abfss://raw@acct.dfs.core.windows.net"


def named(text: str, server: str = "") -> list[str]:
    """The qualified names, and the mistakes."""
    promised, problems = promised_assets(parse_contract(HEAD + text, "c.yaml"), BUILT_IN, server=server)
    return [promised_asset.asset.qualified_name for promised_asset in promised] + problems


@pytest.mark.parametrize(
    ("server", "name"),
    [
        (f"type: azure, location: '{LAKE}/gold/orders/*.parquet'", "https://acct.dfs.core.windows.net/raw/gold/orders"),
        (f"type: azure, location: '{LAKE}/gold/{{model}}'", "https://acct.dfs.core.windows.net/raw/gold/orders"),
        (
            "type: azure, location: 'https://acct.dfs.core.windows.net/raw/gold/orders'",
            "https://acct.dfs.core.windows.net/raw/gold/orders",
        ),
        (
            "type: azure, location: 'az://acct.blob.core.windows.net/raw/orders'",
            "https://acct.blob.core.windows.net/raw/orders",
        ),
        ("type: local, path: /data/orders", "file:///data/orders"),
        ("type: s3, location: 's3://lake/gold/orders/'", "s3://lake/gold/orders"),
        (
            "type: sqlserver, host: srv.database.windows.net, database: db",
            "mssql://srv.database.windows.net/db/dbo/orders",
        ),
        (
            "type: synapse, host: srv.database.windows.net, port: 1433, database: db, schema: sales",
            "mssql://srv.database.windows.net/db/sales/orders",
        ),
        ("type: postgresql, host: h, database: db", "postgresql://servers/h:5432/dbs/db/schemas/public/tables/orders"),
        ("type: kafka, host: 'h:9092'", "kafka://h:9092/orders"),
        (
            "type: databricks, host: adb-1.2.azuredatabricks.net, catalog: main, schema: gold",
            "databricks://adb-1.2.azuredatabricks.net/catalogs/main/schemas/gold/tables/orders",
        ),
        ("type: bigquery, project: p, dataset: d", "bigquery://p/d/orders"),
    ],
)
def test_a_table_is_named_as_the_events_of_its_job_will_name_it(server: str, name: str) -> None:
    (names,) = named(f"servers: [{{server: s, {server}}}]\n{ONE}")
    assert names == name


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (ONE, "c.yaml:7: orders: the contract has no server: add one, or name the data set by"),
        (
            f"servers: [{{server: dev, type: local, path: /a}}, {{server: prod, type: local, path: /b}}]\n{ONE}",
            "c.yaml:8: orders: the contract has 2 servers (dev, prod): choose one by --server",
        ),
        (f"servers: [{{server: s, type: sftp}}]\n{ONE}", "server s is of type 'sftp', of which no names are known"),
        (f"servers: [{{server: s, type: snowflake}}]\n{ONE}", "server s (line 7) needs account, database, schema"),
        (
            f"servers: [{{server: s, type: azure, location: 'az://folder'}}]\n{ONE}",
            "az://folder is no certain place: write abfss://CONTAINER@ACCOUNT",
        ),
        (
            f"servers: [{{server: s, type: azure, location: '{LAKE}/gold'}}]\nschema: [{{name: a}}, {{name: b}}]\n",
            "is the place of several tables: write {model} where their names stand",
        ),
        (
            f"servers: [{{server: s, type: azure, location: '{LAKE}/t/_delta_log'}}]\n{ONE}",
            "orders: a writer's own file is no data set of a user",
        ),
        (
            "schema:\n  - name: a\n    customProperties: [{property: throughlineDataset, value: 'gold/*'}]\n",
            "c.yaml:8: a: gold/* is a pattern: write the whole address",
        ),
    ],
)
def test_a_table_without_a_certain_place_is_a_mistake_that_says_what_to_add(text: str, problem: str) -> None:
    assert any(problem in line for line in named(text)), named(text)


def test_all_mistakes_are_named_at_once_and_none_shows_a_secret() -> None:
    text = (
        "servers: [{server: s, type: azure, location: 'az://x?sig=5ecret&sv=1'}]\n"
        "schema:\n  - {name: a}\n"
        "  - {name: b, customProperties: [{property: throughlineDataset, value: 's3://KEY:5ecret@h/*?sig=5ecret'}]}\n"
    )
    names = named(text)
    assert [line.split(":")[1] for line in names] == ["9", "10"]
    assert "5ecret" not in "\n".join(names)


def test_the_server_is_chosen_by_its_name_and_a_table_names_its_own_place() -> None:
    text = (
        "servers: [{server: dev, type: local, path: '/dev/{model}'}, {server: prod, type: local, path: '/p/{model}'}]\n"
        "schema:\n  - {name: a, physicalName: a_1}\n"
        f"  - {{name: b, customProperties: [{{property: throughlineDataset, value: '{LAKE}/b'}}]}}\n"
    )
    assert named(text, "prod") == ["file:///p/a_1", "https://acct.dfs.core.windows.net/raw/b"]
    assert "the contract has no server test: it has dev, prod" in named(text, "test")[1]


def test_two_tables_of_one_place_are_a_mistake() -> None:
    place = "customProperties: [{property: throughlineDataset, value: 'file:///data/x'}]"
    text = f"schema:\n  - {{name: a, {place}}}\n  - {{name: b, {place}}}\n"
    promised, _ = promised_assets(parse_contract(HEAD + text, "c.yaml"), BUILT_IN)
    assert list(twice_promised(promised)) == ["c.yaml:9: b is file:///data/x, as is a (c.yaml:8)"]


@pytest.mark.parametrize(
    ("location", "dataset"),
    [
        ("abfss://c@a.dfs.core.windows.net/x/y/", ("abfss://c@a.dfs.core.windows.net", "x/y")),
        ("dbfs:/mnt/x", ("dbfs", "/mnt/x")),
        ("file:///data/x", ("file", "/data/x")),
        ("/data/x/*.csv", ("file", "/data/x")),
        ("s3://b/x/{date}/*", ("s3://b", "x")),
        ("orders", None),
        ("s3://b", None),
        ("s3://*/x", None),
        ("/", None),
    ],
)
def test_what_is_at_a_location(location: str, dataset: tuple[str, str] | None) -> None:
    assert dataset_at(location) == dataset
