"""Run queries on rows by duckdb-kql, which translates KQL to DuckDB's SQL by Kusto's reference.

It has no `parse-kv` and no `make_set_if`; both are rewritten here. Each fact of a line becomes an `extract`, which is
equivalent unless a quoted value contains `name=`. The set may contain an empty text.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import duckdb
import duckdb_kql

from tests.infra.kusto.analyser import TABLES

_TYPES = {
    "bool": "BOOLEAN",
    "datetime": "TIMESTAMP",
    "dynamic": "JSON",
    "int": "INTEGER",
    "real": "DOUBLE",
    "string": "VARCHAR",
}
_PARSE = re.compile(r"\| parse-kv Message as \(([^)]*)\)\s+with \([^)]*\)")
_SET = re.compile(r"make_set_if\((\w+), isnotempty\(\1\), (\d+)\)")
Row = Mapping[str, Any]


def run(query: str, rows: Mapping[str, Iterable[Row]]) -> list[dict[str, Any]]:
    """Return the result of a query on these rows of tables; a missing value is empty for a text, else null."""
    with _workspace().cursor() as workspace:
        workspace.begin()
        for table, table_rows in rows.items():
            for row in table_rows:
                names = ", ".join(f'"{name}"' for name in row)
                places = ", ".join("?" * len(row))
                workspace.execute(f'INSERT INTO "{table}" ({names}) VALUES ({places})', list(row.values()))  # noqa: S608 -- of tables.json
        translated = _translated(query)
        workspace.execute("SET TimeZone='UTC'")
        relation = workspace.sql(str(translated), params=translated.parameters)
        answer = [dict(zip(relation.columns, values, strict=True)) for values in relation.fetchall()]
        workspace.rollback()
        return answer


@cache
def _workspace() -> duckdb.DuckDBPyConnection:
    """Return a connection with the empty tables; the rows of a query are rolled back."""
    workspace = duckdb.connect(config={"threads": 1})
    for table, columns in TABLES.items():
        fields = (f'"{name}" {_TYPES[kind]}' + " DEFAULT ''" * (kind == "string") for name, kind in columns.items())
        workspace.execute(f'CREATE TABLE "{table}" ({", ".join(fields)})')
    return workspace


@cache
def _translated(query: str) -> duckdb_kql.TranslationResult:
    """Return a query in DuckDB's SQL; to translate it takes longer than to run it."""
    return duckdb_kql.to_sql(_supported(query), schema={table: list(columns) for table, columns in TABLES.items()})


def _supported(query: str) -> str:
    return _SET.sub(r"make_set(\1, \2)", _PARSE.sub(_extracts, query))


def _extracts(parse: re.Match[str]) -> str:
    pairs = [column.split(":") for column in parse[1].split(",")]
    return "| extend " + ", ".join(_extract(name.strip(), kind.strip()) for name, kind in pairs)


def _extract(name: str, kind: str) -> str:
    quoted = f"""extract(@'(?:^|\\s){name}="((?:[^"\\\\]|\\\\.)*)"', 1, Message)"""
    plain = f"""extract(@'(?:^|\\s){name}=([^"\\s]+)', 1, Message)"""
    return f"{name} = to{kind}(coalesce({quoted}, {plain}))"
