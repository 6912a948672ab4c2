"""SQL statements and their lineage in short form.

`says` is `kind target <- sources`; `columns` are `source.column > output` for a value, `source.column ? output` for one
that only a script may pass on, and `source.column ~ output` for a condition, with `*` for all rows.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A statement and its lineage; `says` is empty for a statement that is not parsed."""

    sql: str
    says: str
    columns: str = ""
    constants: str = ""


def _case(sql: str, says: str, columns: str = "", constants: str = "") -> Case:
    return Case(sql=sql, says=says, columns=columns, constants=constants)


STATEMENTS: dict[str, Case] = {
    # queries
    "a column": _case("SELECT a FROM t", "select - <- t", "t.a > a"),
    "a literal has no source": _case(
        "SELECT 1 AS one, 'x' AS x, -2 AS y, CAST(3 AS INT) AS z", "select -", "", "one x y z"
    ),
    "a function of nothing is no literal": _case("SELECT current_date() AS d, rand() AS r", "select -"),
    "an expression": _case("SELECT upper(a) AS b, c + 1 AS d FROM t", "select - <- t", "t.a > b; t.c > d"),
    "a made-up name is no name": _case("SELECT upper(a) FROM t", "select - <- t"),
    "a star gives no columns": _case("SELECT * FROM t", "select - <- t"),
    "a star with a literal beside it": _case("SELECT *, 1 AS one FROM t", "select - <- t", "", "one"),
    "qualified columns": _case(
        "SELECT a.x, b.y AS z FROM db.a JOIN cat.db.b ON a.id = b.id",
        "select - <- db.a, cat.db.b",
        "db.a.x > x; cat.db.b.y > z; db.a.id ~ *; cat.db.b.id ~ *",
    ),
    "two tables leave an unqualified column open": _case(
        "SELECT x FROM a JOIN b ON a.id = b.id", "select - <- a, b", "a.id ~ *; b.id ~ *"
    ),
    "an alias": _case("SELECT o.x FROM orders AS o", "select - <- orders", "orders.x > x"),
    "a table by its full name": _case("SELECT db.t.x FROM db.t", "select - <- db.t", "db.t.x > x"),
    "case as written, folded to compare": _case("SELECT T.X FROM Db.t", "select - <- Db.t", "Db.t.X > X"),
    "two spellings are one table": _case(
        "SELECT a.x, b.y FROM T a JOIN t b ON a.i = b.I", "select - <- T", "T.x > x; T.y > y; T.i ~ *"
    ),
    "a field of a struct": _case("SELECT address.city FROM t", "select - <- t", "t.address > city"),
    "a field of a qualified struct": _case("SELECT c.address.city AS x FROM t c", "select - <- t", "t.address > x"),
    "a deep field": _case("SELECT m['k'].z, a.b.c.d.e FROM t", "select - <- t", "t.m > z; t.a > e"),
    "where, group, having, order": _case(
        "SELECT a, sum(b) AS s FROM t WHERE c > 1 GROUP BY a HAVING sum(d) > 1 ORDER BY e",
        "select - <- t",
        "t.a > a; t.b > s; t.a ~ *; t.c ~ *; t.d ~ *; t.e ~ *",
    ),
    "by place": _case("SELECT a, count(*) AS n FROM t GROUP BY 1 ORDER BY 1", "select - <- t", "t.a > a; t.a ~ *"),
    "order by an alias": _case("SELECT a AS b FROM t ORDER BY b", "select - <- t", "t.a > b"),
    "an alias may be a column of the same name": _case("SELECT a AS x, x + 1 AS y FROM t", "select - <- t", "t.a > x"),
    "an alias in a query without other columns": _case(
        "SELECT a AS x, x + 1 AS y FROM (SELECT a FROM t)", "select - <- t", "t.a > x; t.a > y"
    ),
    "case and if": _case(
        "SELECT CASE WHEN a > 1 THEN b ELSE 'x' END AS c, IF(d, e, f) AS g FROM t",
        "select - <- t",
        "t.a ~ c; t.b > c; t.d ~ g; t.e > g; t.f > g",
    ),
    "case of literals is no constant": _case(
        "SELECT CASE WHEN a > 1 THEN 'x' ELSE 'y' END AS c FROM t", "select - <- t", "t.a ~ c"
    ),
    "a window": _case(
        "SELECT sum(a) OVER (PARTITION BY b ORDER BY c) AS s FROM t", "select - <- t", "t.a > s; t.b ~ s; t.c ~ s"
    ),
    "a filtered aggregate": _case(
        "SELECT count(a) FILTER (WHERE b > 1) AS n FROM t", "select - <- t", "t.a > n; t.b ~ n"
    ),
    "a lambda's variable is no column": _case(
        "SELECT transform(a, x -> x + b) AS c FROM t", "select - <- t", "t.a > c; t.b > c"
    ),
    "a script may pass on all that it gets": _case(
        "SELECT TRANSFORM(a, upper(b)) USING 'cat' AS (c STRING, d) FROM t WHERE e > 1",
        "select - <- t",
        "t.a ? c; t.b ? c; t.a ? d; t.b ? d; t.e ~ *",
    ),
    "a script without a list of columns": _case(
        "CREATE TABLE o AS SELECT TRANSFORM(a) USING 'cat' FROM t", "ctas o <- t", "t.a ? key; t.a ? value"
    ),
    "a script gets all that is known": _case(
        "INSERT INTO o (c) SELECT TRANSFORM(*) USING 'cat' AS (x) FROM (SELECT a, 1 AS one FROM t)",
        "insert o <- t",
        "t.a ? c",
    ),
    "a script gets all of a table, whose columns are not known": _case(
        "SELECT TRANSFORM(*) USING 'cat' AS (c) FROM t", "select - <- t"
    ),
    "what a script made is changed": _case(
        "SELECT upper(c) AS d FROM (SELECT TRANSFORM(a) USING 'cat' AS (c) FROM t)", "select - <- t", "t.a ? d"
    ),
    "beside a script a column is exact": _case(
        "SELECT a AS c FROM t UNION ALL SELECT TRANSFORM(a, b) USING 'cat' AS (c) FROM t",
        "select - <- t",
        "t.a > c; t.b ? c",
    ),
    "a subquery": _case("SELECT x.b FROM (SELECT a AS b FROM t WHERE c) x", "select - <- t", "t.a > b; t.c ~ *"),
    "a star of what is known": _case("SELECT * FROM (SELECT a, b AS c FROM t)", "select - <- t", "t.a > a; t.b > c"),
    "a column through a star": _case("SELECT a FROM (SELECT * FROM t)", "select - <- t", "t.a > a"),
    "a column that a star leaves out": _case(
        "SELECT a, b FROM (SELECT * EXCEPT (a) FROM t)", "select - <- t", "t.b > b"
    ),
    "a scalar subquery": _case(
        "SELECT t.a, (SELECT max(u.b) FROM u WHERE u.c = t.d) AS m FROM t",
        "select - <- u, t",
        "t.a > a; u.b > m; u.c ~ m; t.d ~ m",
    ),
    "an unqualified column may be one of the query around": _case(
        "SELECT (SELECT max(b) FROM u) AS m FROM t", "select - <- u, t"
    ),
    "subqueries in a filter": _case(
        "SELECT t.a FROM t WHERE t.b IN (SELECT u.c FROM u) AND EXISTS (SELECT 1 FROM v WHERE v.d = t.e)",
        "select - <- t, u, v",
        "t.a > a; t.b ~ *; u.c ~ *; v.d ~ *; t.e ~ *",
    ),
    "a common table": _case(
        "WITH c AS (SELECT a AS b FROM t) SELECT b FROM c JOIN d ON c.b = d.e",
        "select - <- t, d",
        "t.a > b; t.a ~ *; d.e ~ *",
    ),
    "a common table with named columns": _case(
        "WITH c(x) AS (SELECT a FROM t) SELECT x FROM c", "select - <- t", "t.a > x"
    ),
    "common tables on each other": _case(
        "WITH a AS (SELECT x FROM t), b AS (SELECT x AS y FROM a) SELECT y FROM b", "select - <- t", "t.x > y"
    ),
    "a common table that hides a table": _case(
        "WITH t AS (SELECT a FROM t) SELECT a FROM t", "select - <- t", "t.a > a"
    ),
    "a common table that nobody reads": _case(
        "WITH c AS (SELECT a FROM u) SELECT a FROM t", "select - <- t", "t.a > a"
    ),
    "a database tells a table from a common one": _case(
        "WITH t AS (SELECT 1 AS a) SELECT a FROM db.t", "select - <- db.t", "db.t.a > a"
    ),
    "a recursive common table": _case(
        "WITH RECURSIVE r AS (SELECT a AS n FROM t UNION ALL SELECT n + 1 FROM r) SELECT n FROM r",
        "select - <- t",
        "t.a > n",
    ),
    "a union": _case("SELECT a FROM t UNION ALL SELECT b FROM u", "select - <- t, u", "t.a > a; u.b > a"),
    "a union of a literal": _case("SELECT a, 1 AS n FROM t UNION SELECT 'x', 2", "select - <- t", "t.a > a", "n"),
    "a union with a star": _case("SELECT a FROM t UNION ALL SELECT * FROM u", "select - <- t, u"),
    "except": _case("SELECT a FROM t EXCEPT SELECT b FROM u", "select - <- t, u", "t.a > a; u.b ~ *"),
    "using": _case(
        "SELECT id, t.a FROM t LEFT JOIN u USING (id)", "select - <- t, u", "t.id > id; t.a > a; t.id ~ *; u.id ~ *"
    ),
    "using in a full join": _case("SELECT id FROM t FULL JOIN u USING (id)", "select - <- t, u", "t.id ~ *; u.id ~ *"),
    "a semi join": _case(
        "SELECT a FROM t LEFT SEMI JOIN u ON t.i = u.j WHERE b",
        "select - <- t, u",
        "t.a > a; t.i ~ *; u.j ~ *; t.b ~ *",
    ),
    "an anti join": _case(
        "SELECT id FROM t LEFT ANTI JOIN u USING (id)", "select - <- t, u", "t.id > id; t.id ~ *; u.id ~ *"
    ),
    "a natural join": _case("SELECT id, t.a FROM t NATURAL JOIN u", "select - <- t, u", "t.a > a"),
    "lateral view": _case(
        "SELECT id, e FROM t LATERAL VIEW explode(arr) x AS e", "select - <- t", "t.id > id; t.arr > e"
    ),
    "lateral view without names": _case(
        "SELECT id, pos, col FROM t LATERAL VIEW OUTER posexplode(arr) x",
        "select - <- t",
        "t.id > id; t.arr > pos; t.arr > col",
    ),
    "lateral function": _case(
        "SELECT id, e FROM t, LATERAL explode(arr) AS x(e)", "select - <- t", "t.id > id; t.arr > e"
    ),
    "lateral subquery": _case(
        "SELECT t.id, q.z FROM t JOIN LATERAL (SELECT u.z FROM u WHERE u.i = t.i) q",
        "select - <- t, u",
        "t.id > id; u.z > z; u.i ~ *; t.i ~ *",
    ),
    "a generator of two columns": _case("SELECT explode(m) AS (k, v) FROM t", "select - <- t", "t.m > k; t.m > v"),
    "pivot": _case("SELECT * FROM (SELECT a, b, c FROM t) PIVOT (sum(a) FOR b IN ('x', 'y'))", "select - <- t"),
    "pivot leaves names open": _case("SELECT p.x FROM t PIVOT (sum(a) FOR b IN ('x', 'y')) p", "select - <- t"),
    "values": _case("SELECT v.a FROM VALUES (1, 'x'), (2, 'y') AS v(a, b)", "select -", "", "a"),
    "time travel": _case("SELECT a FROM t TIMESTAMP AS OF '2026-11-21'", "select - <- t", "t.a > a"),
    "version travel": _case("SELECT x.a FROM db.t VERSION AS OF 3 AS x", "select - <- db.t", "db.t.a > a"),
    "a hint names no table": _case(
        "SELECT /*+ BROADCAST(s), REPARTITION(3) */ t.a FROM t JOIN s ON t.i = s.i",
        "select - <- t, s",
        "t.a > a; t.i ~ *; s.i ~ *",
    ),
    "a named parameter": _case("SELECT a FROM t WHERE b = :x", "select - <- t", "t.a > a; t.b ~ *"),
    "files": _case(
        "SELECT a FROM parquet.`abfss://c@acct.dfs.core.windows.net/x`",
        "select - <- parquet:abfss://c@acct.dfs.core.windows.net/x",
        "parquet:abfss://c@acct.dfs.core.windows.net/x.a > a",
    ),
    "a database that is called like a format": _case(
        "SELECT a FROM delta.events", "select - <- delta.events", "delta.events.a > a"
    ),
    "four parts": _case("SELECT * FROM a.b.c.d", "select - <- a.b.c.d"),
    "a sample": _case("SELECT a FROM t TABLESAMPLE (10 PERCENT) s", "select - <- t", "t.a > a"),
    "a range": _case("SELECT id FROM range(3)", "select -"),
    "a table function leaves names open": _case("SELECT a FROM read_files('/x')", "select -"),
    "from first": _case("FROM t SELECT a", "select - <- t", "t.a > a"),
    "parentheses": _case("((SELECT a FROM t))", "select - <- t", "t.a > a"),
    "parentheses around joins": _case(
        "SELECT a.x FROM (a JOIN b ON a.i = b.i)", "select - <- a, b", "a.x > x; a.i ~ *; b.i ~ *"
    ),
    "distribute and sort": _case(
        "SELECT a FROM t DISTRIBUTE BY b SORT BY c", "select - <- t", "t.a > a; t.b ~ *; t.c ~ *"
    ),
    "comments and a semicolon": _case("-- first\nSELECT a /* b */ FROM t;", "select - <- t", "t.a > a"),
    # insert
    "insert by position names no columns": _case(
        "INSERT INTO t SELECT a, 1 FROM s WHERE b", "insert t <- s", "s.b ~ *"
    ),
    "insert into named columns": _case("INSERT INTO t (x, y) SELECT a, 1 FROM s", "insert t <- s", "s.a > x", "y"),
    "insert by name": _case("INSERT INTO t BY NAME SELECT a AS x, 1 AS y FROM s", "insert t <- s", "s.a > x", "y"),
    "insert overwrite a partition": _case(
        "INSERT OVERWRITE TABLE db.t PARTITION (day = '2026-11-21', h) SELECT a, h FROM s",
        "insert db.t <- s",
        "",
        "day",
    ),
    "insert values": _case("INSERT INTO t (x) VALUES (1), (2)", "insert t", "", "x"),
    "insert a table": _case("INSERT INTO t TABLE s", "insert t <- s"),
    "insert replace where": _case("INSERT INTO t REPLACE WHERE d > 1 SELECT * FROM s", "insert t <- s"),
    "insert with a common table before": _case(
        "WITH c AS (SELECT a FROM s) INSERT INTO t (x) SELECT a FROM c", "insert t <- s", "s.a > x"
    ),
    "insert with a common table after": _case(
        "INSERT INTO t (x) WITH c AS (SELECT a FROM s) SELECT a FROM c", "insert t <- s", "s.a > x"
    ),
    "insert what it reads": _case("INSERT INTO t SELECT * FROM t", "insert t <- t"),
    "insert into a path": _case("INSERT INTO delta.`/p/t` SELECT * FROM s", "insert delta:/p/t <- s"),
    "insert into a folder": _case(
        "INSERT OVERWRITE DIRECTORY '/p/out' USING parquet SELECT a AS x FROM s",
        "insert parquet:/p/out <- s",
        "s.a > x",
    ),
    "insert into a folder by option": _case(
        "INSERT OVERWRITE DIRECTORY USING csv OPTIONS (path '/p/out', header = 'true') SELECT * FROM s",
        "insert csv:/p/out <- s",
    ),
    "insert into a local folder": _case(
        "INSERT OVERWRITE LOCAL DIRECTORY '/p/out' STORED AS orc SELECT * FROM s", "insert orc:/p/out <- s"
    ),
    "insert into a folder of Hive's": _case(
        "INSERT OVERWRITE DIRECTORY '/p/out' SELECT * FROM s", "insert :/p/out <- s"
    ),
    # create
    "ctas": _case(
        "CREATE TABLE c.d.t USING delta PARTITIONED BY (a) LOCATION '/x' AS SELECT a, upper(b) AS c, 1 AS n FROM s",
        "ctas c.d.t <- s",
        "s.a > a; s.b > c",
        "n",
    ),
    "rtas": _case("CREATE OR REPLACE TABLE t USING delta AS SELECT a FROM s", "rtas t <- s", "s.a > a"),
    "replace table": _case("REPLACE TABLE t USING delta AS SELECT a FROM s", "rtas t <- s", "s.a > a"),
    "ctas at a path": _case("CREATE TABLE delta.`/p` USING delta AS SELECT 1 AS one", "ctas delta:/p", "", "one"),
    "ctas of a common table": _case(
        "CREATE TABLE IF NOT EXISTS t AS WITH q AS (SELECT a FROM s) SELECT a FROM q", "ctas t <- s", "s.a > a"
    ),
    "ctas in parentheses": _case("CREATE TABLE t AS (SELECT a FROM s)", "ctas t <- s", "s.a > a"),
    "a table without a query": _case("CREATE TABLE t (a INT) USING delta", "create_table t"),
    "create like copies no data": _case("CREATE TABLE t LIKE s", "create_table t"),
    "a clone": _case("CREATE TABLE t SHALLOW CLONE s", "clone t <- s"),
    "a temporary view": _case("CREATE OR REPLACE TEMP VIEW v AS SELECT a FROM t", "temporary_view v <- t", "t.a > a"),
    "a view with names": _case(
        "CREATE VIEW v (x COMMENT 'c', y) AS SELECT a, b FROM t", "view v <- t", "t.a > x; t.b > y"
    ),
    "a materialized view": _case(
        "CREATE MATERIALIZED VIEW v AS SELECT a FROM t", "materialized_view v <- t", "t.a > a"
    ),
    "a streaming table": _case("CREATE STREAMING TABLE t AS SELECT a FROM STREAM(s)", "ctas t <- s", "s.a > a"),
    "cache a query": _case("CACHE TABLE c AS SELECT a FROM t", "cache c <- t", "t.a > a"),
    "cache a table": _case("CACHE LAZY TABLE t", "cache - <- t"),
    # changes in place
    "update": _case(
        "UPDATE delta.`/p` SET amount = amount + 1, state = 'x' WHERE id IN (SELECT o.id FROM o)",
        "update delta:/p <- o",
        "o.id ~ *",
        "state",
    ),
    "update by a subquery": _case(
        "UPDATE t AS x SET x.a = (SELECT max(o.b) FROM o WHERE o.i = x.i)", "update t <- o", "o.b > a; o.i ~ a"
    ),
    "delete": _case("DELETE FROM delta.`/p` WHERE id = 2", "delete delta:/p"),
    "delete by a subquery": _case(
        "DELETE FROM t x WHERE EXISTS (SELECT 1 FROM o WHERE o.id = x.id)", "delete t <- o", "o.id ~ *"
    ),
    "a target that its own subquery reads": _case("DELETE FROM t WHERE id IN (SELECT id FROM t)", "delete t"),
    "merge stars": _case(
        "MERGE INTO a t USING b s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        "merge a <- b",
        "b.id ~ *",
    ),
    "merge columns": _case(
        "MERGE INTO delta.`/a` AS t USING delta.`/b` s ON t.id = s.id "
        "WHEN MATCHED AND s.gone THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET t.amount = t.amount + s.amount, seen = true "
        "WHEN NOT MATCHED THEN INSERT (id, name, seen) VALUES (s.id, name, true)",
        "merge delta:/a <- delta:/b",
        "delta:/b.id ~ *; delta:/b.gone ~ *; delta:/b.amount > amount; delta:/b.id > id; delta:/b.name > name",
        "seen",
    ),
    "merge a subquery": _case(
        "MERGE INTO db.t "
        "USING (SELECT u.id, max(u.x) AS x FROM u JOIN v ON u.id = v.id GROUP BY u.id) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET x = s.x WHEN NOT MATCHED BY SOURCE THEN UPDATE SET t.x = 0",
        "merge db.t <- u, v",
        "u.x > x; u.id ~ *; v.id ~ *",
    ),
    "merge a common table": _case(
        "WITH s AS (SELECT id FROM u) MERGE INTO t USING s ON t.id = s.id "
        "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)",
        "merge t <- u",
        "u.id > id; u.id ~ *",
    ),
    "merge with schema evolution": _case(
        "MERGE WITH SCHEMA EVOLUTION INTO t USING s ON t.a = s.a WHEN NOT MATCHED THEN INSERT *",
        "merge t <- s",
        "s.a ~ *",
    ),
    # files
    "copy": _case("COPY INTO t FROM '/in' FILEFORMAT = CSV", "copy t <- csv:/in"),
    "copy a query": _case(
        "COPY INTO delta.`/p` FROM (SELECT a AS x, 1 AS n FROM 'abfss://c@a/in') FILEFORMAT = PARQUET",
        "copy delta:/p <- parquet:abfss://c@a/in",
        "parquet:abfss://c@a/in.a > x",
        "n",
    ),
    "load": _case("LOAD DATA INPATH '/in' OVERWRITE INTO TABLE t PARTITION (a = 1)", "load t <- :/in"),
    # not read
    "nothing": _case("", ""),
    "a comment": _case("-- SELECT a FROM t", ""),
    "no SQL": _case("Delete what you like; nobody minds", ""),
    "several statements": _case("SELECT a FROM t; SELECT b FROM u", ""),
    "jinja": _case("SELECT * FROM {{ ref('x') }}", ""),
    "jinja's blocks": _case("{% if x %} SELECT a FROM t {% endif %}", ""),
    "a variable": _case("SELECT a FROM ${db}.t", ""),
    "a computed name": _case("SELECT a FROM IDENTIFIER(:t)", ""),
    "a computed target": _case("INSERT INTO IDENTIFIER('t') SELECT a FROM s", ""),
    "several targets": _case("FROM t INSERT INTO a SELECT x INSERT INTO b SELECT y", ""),
    "a pipe": _case("FROM t |> WHERE x > 1 |> SELECT y", ""),
    "a definition": _case("ALTER TABLE t ADD COLUMNS (a INT)", ""),
    "a drop": _case("DROP TABLE t", ""),
    "a command": _case("OPTIMIZE t ZORDER BY (a)", ""),
    "a function": _case("CREATE FUNCTION f AS 'com.example.F'", ""),
    "a broken text": _case("SELECT 'a FROM t", ""),
    "a broken statement": _case("INSERT INTO SELECT", ""),
}
