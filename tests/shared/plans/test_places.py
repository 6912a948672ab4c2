"""Plans that read and write by JDBC: names of tables as the listener spells them, and queries by their text."""

import pytest

from shared.plans.places import server_of, table_name
from shared.plans.reader import PlanLineage, read_plan
from shared.translation.sql.queries import read_from
from tests.support.plans import LITERAL, Json, PlanBuilder, call, column, edges_of, facet

A, B = column(1, "a"), column(2, "b")
URL = "jdbc:postgresql://DB.example/shop?ssl=true"
SHOP = "postgres://db.example:5432"


@pytest.mark.parametrize(
    ("url", "name", "dataset"),
    [
        (URL, ("public", "orders"), (SHOP, "shop.public.orders")),
        (URL, ("shop", "public", "orders"), (SHOP, "shop.public.orders")),
        (
            "jdbc:sqlserver://h.database.windows.net:1433;database=db;user=?;password=?",
            ("dbo", "t"),
            ("sqlserver://h.database.windows.net:1433", "db.dbo.t"),
        ),
        ("jdbc:sqlserver://h\\one;databaseName=db;portNumber=7", ("t",), ("sqlserver://h:7/one", "db.t")),
        ("jdbc:mysql://h/db", ("t",), ("mysql://h:3306", "db.t")),
        ("jdbc:oracle:thin:@//h/svc", ("s", "t"), ("oracle://h:1521", "svc.s.t")),
        ("jdbc:oracle:thin:@h:7:sid", ("s", "t"), ("oracle://h:7", "sid.s.t")),
        ("jdbc:trino://h:8080/cat", ("s", "t"), ("trino://h:8080", "cat.s.t")),
    ],
)
def test_a_table_is_named_as_the_listener_names_it(url: str, name: tuple[str, ...], dataset: tuple[str, str]) -> None:
    server = server_of(url)
    assert server is not None
    assert server.table(name) == dataset


@pytest.mark.parametrize("url", ["jdbc:derby:memory:db", "jdbc:postgresql://a:1,b:2/shop", "jdbc:", "", "x" * 10_000])
def test_an_address_of_an_unknown_form_gives_no_server(url: str) -> None:
    assert server_of(url) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("orders", ("orders",)),
        ('"S".orders', ('"S"', "orders")),
        ("[dbo].[t]", ("[dbo]", "[t]")),
        ("(SELECT 1) x", None),
    ],
)
def test_a_name_is_distinguished_from_a_query(text: str, name: tuple[str, ...] | None) -> None:
    assert table_name(text) == name


def _reading(text: str, *columns: Json, url: str = URL) -> PlanLineage:
    plans = PlanBuilder()
    relation = {"k": "JDBCRelation", "jdbc": {"k": "JDBCOptions", "url": url, "tableOrQuery": text}}
    leaf = plans.add("LogicalRelation", relation=relation, output=[*columns])
    return read_plan(facet(plans.writing(leaf)), read_from)


@pytest.mark.parametrize(
    ("text", "expected_edges", "exact"),
    [
        ("public.orders", {"a>a", "b>b"}, True),
        ("(SELECT x AS a, y + ? AS b FROM public.orders WHERE z > ?) q", {"x>a", "y>b", "z?"}, True),
        ("(SELECT * FROM public.orders WHERE z > ?) q", {"a>a", "b>b", "z?"}, True),
        (
            "(SELECT o.x, IF(c.y > ?, o.z, ?) FROM o JOIN c ON o.i = c.j) q",
            {"x>a", "z>b", "y?b", "i?", "j?"},
            True,
        ),
        ("(WITH q AS (SELECT x, y FROM t) SELECT q.x, q.y FROM q) q", {"x>a", "y>b"}, True),
        ("(SELECT x, y FROM t WHERE ROWNUM < ?) q", {"x>a", "y>b"}, True),
        ("(SELECT DISTINCT x, y FROM t) q", {"x>a", "y>b"}, False),
        ("(SELECT x, count(y) FROM t) q", {"x>a", "y>b"}, False),
        ("(SELECT x, y FROM t JOIN u ON t.i = u.i) q", {"i?"}, False),
        ("(SELECT x, y FROM t GROUP BY ?, ?) q", {"x>a", "y>b"}, False),
        ("(SELECT t.*, u.z FROM t, u) q", set(), False),
        ("(SELECT FROM WHERE", set(), False),
    ],
)
def test_the_columns_of_a_query_are_read_from_its_text(text: str, expected_edges: set[str], exact: bool) -> None:
    lineage = _reading(text, A, B)
    assert edges_of(lineage.outputs[0]) == expected_edges
    assert lineage.exact is exact


def test_tables_of_a_query_are_inputs_even_if_its_columns_are_uncertain() -> None:
    lineage = _reading("(SELECT x, y FROM public.t JOIN u ON t.i = u.i) q", A, B)
    assert {merged_dataset.key for merged_dataset in lineage.inputs} == {(SHOP, "shop.public.t"), (SHOP, "shop.u")}
    assert lineage.unknown == (("a JDBC query", 1),)


def test_a_table_of_an_unknown_server_is_no_input() -> None:
    lineage = _reading("t", A, url="jdbc:derby:memory:db")
    assert (lineage.exact, lineage.inputs) == (False, ())


@pytest.mark.parametrize(
    "command",
    [
        {"k": "SaveIntoDataSourceCommand", "options": {"url": URL, "dbtable": "public.out"}},
        {"k": "AppendData", "table": {"ref": 2}},
    ],
)
def test_a_table_that_a_command_writes_by_jdbc_is_its_output(command: Json) -> None:
    plans = PlanBuilder()
    source = plans.table("file:/in", A)
    options = {"k": "JDBCOptions", "url": URL, "tableOrQuery": "public.out"}
    plans.add("DataSourceV2Relation", table={"k": "JDBCTable", "name": "public.out", "jdbc": options}, output=[A])
    plans.plans[0] = {**command, "query": plans.add("Filter", condition=call("IsNotNull", LITERAL), child=source)}
    lineage = read_plan(facet(plans.document()))
    assert [output.key for output in lineage.outputs] == [(SHOP, "shop.public.out")]
    assert lineage.exact
