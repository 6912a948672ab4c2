"""Reading statements: sources, targets and columns, and nothing uncertain."""

import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.model import EdgeKind
from shared.translation.sql.model import KINDS, Statement, StatementColumn, TableRef
from shared.translation.sql.statement_reader import read_statement, redact
from tests.support.statements import STATEMENTS, Case

ROOT = Path(__file__).parents[4]


def _ref(table: TableRef) -> str:
    return f"{table.format}:{table.path}" if table.path else ".".join(table.parts)


def _shown(statement: Statement | None) -> str:
    if statement is None:
        return ""
    sources = f" <- {', '.join(map(_ref, statement.sources))}" if statement.sources else ""
    return f"{statement.kind} {_ref(statement.target) if statement.target else '-'}{sources}"


def _sign(pair: StatementColumn) -> str:
    if pair.kind is EdgeKind.INDIRECT:
        return "~"
    return "?" if pair.opaque else ">"


def _columns(statement: Statement | None) -> set[str]:
    return {
        f"{_ref(pair.source)}.{pair.column} {_sign(pair)} {pair.output or '*'}"
        for pair in (statement.columns if statement else ())
    }


@pytest.mark.parametrize("case", STATEMENTS.values(), ids=STATEMENTS)
def test_sources_target_and_columns_of_a_statement(case: Case) -> None:
    statement = read_statement(case.sql)
    assert _shown(statement) == case.says
    assert _columns(statement) == {column_name.strip() for column_name in case.columns.split(";") if column_name}
    assert " ".join(statement.constants if statement else ()) == case.constants


@pytest.mark.parametrize(
    ("sql", "outputs"),
    [
        ("SELECT a, t.b AS c, d + 1 AS e FROM t", ("a", "c", "e")),
        ("SELECT a, d + 1 FROM t", ()),
        ("SELECT a, t.* FROM t", ()),
        ("CREATE TABLE x AS SELECT a, d + 1 AS e FROM t", ("a", "e")),
        ("CREATE VIEW x (y, z) AS SELECT a, b FROM t", ("y", "z")),
    ],
)
def test_the_columns_of_a_query_or_of_what_is_created_are_known_all_or_none(sql: str, outputs: tuple[str, ...]) -> None:
    statement = read_statement(sql)
    assert statement
    assert statement.outputs == outputs


def test_the_table_of_statements_has_every_kind() -> None:
    assert {case.says.partition(" ")[0] for case in STATEMENTS.values()} - {""} == set(KINDS)
    assert len(STATEMENTS) >= 60


# any text


def _is_sound(statement: Statement | None) -> None:
    """The properties of any result."""
    if statement is None:
        return
    assert statement.kind in KINDS
    assert {column.source for column in statement.columns} <= set(statement.sources)
    assert list(statement.columns) == sorted(set(statement.columns))
    assert len({table.key for table in statement.sources}) == len(statement.sources)
    for table in (*statement.sources, *([statement.target] if statement.target else [])):
        assert bool(table.path) != bool(table.parts)


@given(st.text(max_size=200))
@example("SELECT " + "(" * 500)
@example("\x00")
@example("'")
@example("`" * 3)
@example("SELECT a FROM t WHERE x = '\ud800'")
@example("MERGE INTO a USING b ON x WHEN MATCHED THEN UPDATE * WHEN NOT MATCHED THEN INSERT *")
def test_any_text_gives_a_sound_result(text: str) -> None:
    _is_sound(read_statement(text))
    assert isinstance(redact(text), str)


WORDS = sorted({word for case in STATEMENTS.values() for word in case.sql.split()})


@st.composite
def _broken(draw: st.DrawFn) -> str:
    """A statement with words removed, doubled, exchanged, or taken from other statements."""
    words = draw(st.sampled_from(sorted(case.sql for case in STATEMENTS.values()))).split()
    for place, change in draw(st.lists(st.tuples(st.integers(0, 60), st.sampled_from("dxit")), min_size=1, max_size=5)):
        position = place % (len(words) + 1)
        if change == "d":
            words[position : position + 1] = []
        elif change == "x":
            words[position : position + 2] = words[position : position + 2][::-1]
        elif change == "i":
            words.insert(position, draw(st.sampled_from(WORDS)))
        else:
            words[position : position + 3] *= 2
    return " ".join(words)


@given(_broken())
def test_a_broken_statement_gives_a_sound_result(sql: str) -> None:
    _is_sound(read_statement(sql))
    assert isinstance(redact(sql), str)


def test_nothing_of_a_statement_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The parser's own warnings quote it."""
    with caplog.at_level(logging.DEBUG):
        for sql in ("CREATE FUNCTION f AS 'secret'", "ALTER TABLE t SECRET 'secret'", "SHOW TABLES LIKE 'secret'"):
            assert read_statement(sql) is None
            redact(sql)
    assert caplog.records == []


BEYOND: dict[str, str] = {
    "long": "SELECT a FROM t" + " " * 200_000,
    "deep parentheses": "SELECT " + "(" * 41 + "a" + ")" * 41 + " FROM t",
    "deep cases": "SELECT " + "CASE WHEN a THEN " * 41 + "1" + " END" * 41 + " FROM t",
    "deep subqueries": "SELECT a FROM " + "(SELECT a FROM " * 41 + "t" + ")" * 41,
    "deep by words": "SELECT " + "NOT " * 20_000 + "a FROM t",
    "many words": "SELECT a" + ", a" * 20_000 + " FROM t",
}


@pytest.mark.parametrize("sql", BEYOND.values(), ids=BEYOND)
def test_a_statement_beyond_the_bounds_is_not_read(sql: str) -> None:
    assert read_statement(sql) is None


DOUBLING = [
    "c0 AS (SELECT a FROM t)",
    *(f"c{i + 1} AS (SELECT x.a FROM c{i} x JOIN c{i} y ON x.a = y.a)" for i in range(300)),  # noqa: S608 - nobody runs it
]
"""Common tables each of which reads the one before it twice."""

WITHIN: dict[str, str] = {
    "columns": "SELECT a.x AS y" + ", a.x" * 4000 + " FROM a",
    "sum": "SELECT " + "a + " * 4000 + "a AS y FROM t",
    "unions": "SELECT a FROM t" + " UNION ALL SELECT a FROM t" * 1500,
    "joins": "SELECT t.a FROM t" + " JOIN u ON t.i = u.i" * 500,
    "common tables": " ".join(("WITH", ", ".join(DOUBLING), "SELECT a FROM c300")),
    "parentheses": "SELECT " + "(" * 39 + "a" + ")" * 39 + " FROM t",
    "subqueries": "SELECT a FROM " + "(SELECT a FROM " * 39 + "t" + ")" * 39,
    "functions": "SELECT " + "f(" * 39 + "a" + ")" * 39 + " AS b FROM t",
}


@pytest.mark.parametrize("sql", WITHIN.values(), ids=WITHIN)
def test_a_statement_within_the_bounds_is_read_in_time(sql: str) -> None:
    """About a second of CPU at the most; ten times that is no measurement but a different curve."""
    began = time.process_time()
    statement = read_statement(sql)
    assert time.process_time() - began < 10
    assert statement
    assert statement.sources
    _is_sound(statement)


def test_a_statement_with_too_many_pairs_of_columns_gives_only_its_tables() -> None:
    """Two hundred columns in each of a hundred output columns are within the bound."""
    inner = f"SELECT concat({', '.join(f'a{i}' for i in range(200))}) AS c FROM t"  # noqa: S608 - nobody runs it
    for outputs, expected in ((100, 20_000), (101, 0)):
        statement = read_statement(f"SELECT {', '.join(f'q.c AS d{i}' for i in range(outputs))} FROM ({inner}) q")  # noqa: S608 - the same
        assert statement
        assert _shown(statement) == "select - <- t"
        assert len(statement.columns) == expected


def test_the_parser_is_imported_by_the_first_statement() -> None:
    code = (
        "import sys; import shared.translation.sql.statement_reader as s; assert 'sqlglot' not in sys.modules; "
        "assert s.read_statement('SELECT a FROM t').sources; assert 'sqlglot' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, timeout=60)


# without literals

REDACTED: dict[str, tuple[str, str]] = {
    "texts and numbers": ("SELECT 'Ann', 12.5, -3 FROM t WHERE a = \"Bo\"", "SELECT ?, ?, -? FROM t WHERE a = ?"),
    "names stay": ("SELECT a1, `a 2` FROM delta.`/a/b`", "SELECT a1, `a 2` FROM delta.`/a/b`"),
    "dates": ("SELECT DATE '2026-11-21', TIMESTAMP'2026-11-21 10:00:00'", "SELECT DATE ?, TIMESTAMP?"),
    "typed numbers": ("SELECT 10L, 1.5BD, 1e3, .5, 0xFF, 1_000", "SELECT ?, ?, ?, .?, ?, ?"),
    "other texts": ("SELECT r'a\\b', x'FF', 'it\\'s', 'a' 'b', 'a''b'", "SELECT ?, ?, ?, ? ?, ??"),
    "comments": ("SELECT a -- Ann\n FROM /* Bo */ t", "SELECT a FROM t"),
    "hints": ("SELECT /*+ REPARTITION(2, 'Bo'), MERGE(t) */ a FROM t", "SELECT a FROM t"),
    "lines stay": ("SELECT a\n  FROM t", "SELECT a\n  FROM t"),
    "commands": ("SHOW TABLES LIKE 'Ann'", "SHOW ?"),
    "null, true, false": ("SELECT NULL, TRUE, false", "SELECT NULL, TRUE, false"),
    "templates": ("SELECT {{ x('Ann') }} FROM t", "SELECT {{ x(?) }} FROM t"),
    "no SQL": ("call Ann at 5", "call ?"),
    "a broken text": ("SELECT 'Ann", ""),
    "a comment that goes on": ("SELECT a -- x \\\n Ann\n FROM t", ""),
    "too long": ("SELECT 'Ann'" + " " * 200_000, ""),
    "nothing": ("", ""),
}


@pytest.mark.parametrize(("sql", "expected"), REDACTED.values(), ids=REDACTED)
def test_redaction_removes_the_literals_of_a_statement(sql: str, expected: str) -> None:
    assert redact(sql) == expected


def _quoted(text: str) -> Iterator[str]:
    escaped = text.replace("\\", "\\\\")
    yield "'" + escaped.replace("'", "\\'") + "'"
    yield '"' + escaped.replace('"', '\\"') + '"'


SAFE = sorted(
    word
    for word in WORDS
    if not any(mark in word for mark in ("--", "/*", "*/")) and not any(word.count(mark) % 2 for mark in "'\"`")
)
"""Among which a literal is one: none of them opens a text or a comment that another closes."""
SECRET = frozenset("αβγδεζηθ")


@given(
    st.lists(st.sampled_from(SAFE), max_size=20),
    st.lists(st.sampled_from(SAFE), max_size=20),
    st.text(alphabet="αβγδεζηθ'\"\\ -/*`\n", min_size=1).filter(lambda text: SECRET & set(text)),
    st.data(),
)
def test_every_literal_is_removed(before: list[str], after: list[str], secret: str, data: st.DataObject) -> None:
    """For any statement and any position of the literal."""
    literal = data.draw(st.sampled_from(list(_quoted(secret))))
    assert not SECRET & set(redact(" ".join([*before, literal, *after])))
