"""The tables that changed files write, before and after, and what becomes of each.

A dbt model is its SELECT. Its Jinja is read where it can't change the columns: `ref` and `source`, `config`, comments,
and the condition `is_incremental()`. Of a model with other Jinja, the columns are not known.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from shared.governance.checks.breakage import Change
from shared.translation.sql.model import TableRef
from shared.translation.sql.parsing import Alteration, alterations, statements_of
from shared.translation.sql.statement_reader import read_statement, redact
from throughline.changes.git_range import ChangedFile
from throughline.dbt.artifacts import Node

_MODELS, _MACROS = frozenset({"models", "snapshots"}), "macros"
_DEFINES = frozenset({"select", "ctas", "rtas", "create_table", "view", "materialized_view"})
"""Statements that say which columns a table has; others move rows, and leave its columns as they are."""
_END_WITH_SESSION = frozenset({"temporary_view", "cache"})
_MOVES = re.compile(
    r"(with|from|insert|merge|update|delete|replace|copy|load|"
    r"create\s+(or\s+replace\s+)?((external|global|live|materialized|streaming|temp|temporary)\s+)*(table|view))\b",
    re.IGNORECASE,
)
_TEXT = r"""\s*['"]([\w.$-]+)['"]\s*"""
_JINJA: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\{#.*?#\}|\{\{-?\s*config\(.*?\)\s*-?\}\}", re.DOTALL), " "),
    (re.compile(r"\{%-?\s*if\s+is_incremental\(\)\s*-?%\}((?:(?!\{%).)*)\{%-?\s*endif\s*-?%\}", re.DOTALL), r" \1 "),
    (re.compile(r"\{%-?\s*(?:end)?snapshot\b.*?%\}", re.DOTALL), " "),
    (re.compile(r"\{\{-?\s*(?:ref|source)\((?:" + _TEXT + r",)?" + _TEXT + r"\)\s*-?\}\}"), r"`\2`"),
    (re.compile(r"\{\{-?\s*this\s*-?\}\}"), "`this`"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableChange:
    """What becomes of a table, or of a column of it. `names`: its names, the most certain first; none where a statement
    can't be read, which `remark` says.
    """

    names: tuple[str, ...]
    change: Change
    place: str
    column: str = ""
    remark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """A table as a text writes it. `columns`: None where it does not say them."""

    names: tuple[str, ...]
    text: str
    defines: bool
    columns: tuple[str, ...] | None
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """All that the files write at one end of the range."""

    tables: Mapping[tuple[str, ...], _Written]
    altered: frozenset[tuple[Alteration, str]]
    unreadable: frozenset[tuple[str, str, str]]
    """Statements, each with the file that it is in, and a sentence."""


def table_changes(files: Iterable[ChangedFile], nodes: Iterable[Node] = ()) -> Iterator[TableChange]:
    """What becomes of the tables that files write. `nodes`: of a dbt project, which name its models exactly."""
    changed = tuple(files)
    models = {node.original_file_path.replace("\\", "/"): node for node in nodes if node.original_file_path}
    old = _reading(((file, file.old) for file in changed), models)
    new = _reading(((file, file.new) for file in changed), models)
    for key, table in old.tables.items():
        yield from _compared(table, new.tables.get(key))
    for alteration, place in sorted(new.altered - old.altered):
        yield TableChange(
            names=_names(alteration.table), change=Change(alteration.verb), column=alteration.column, place=place
        )
    for _, place, remark in sorted(new.unreadable - old.unreadable):
        yield TableChange(names=(), change=Change.REWRITE, place=place, remark=remark)


_MOST_CHARACTERS = 60
"""Characters of a statement that a remark quotes."""


def _reading(texts: Iterable[tuple[ChangedFile, str | None]], models: Mapping[str, Node]) -> _Reading:
    tables: dict[tuple[str, ...], _Written] = {}
    altered: set[tuple[Alteration, str]] = set()
    unreadable: set[tuple[str, str, str]] = set()
    for file, text in texts:
        folder = PurePosixPath(file.in_project).parts[:1]
        if text is None or (folder and folder[0] not in {*_MODELS, _MACROS}):
            continue
        if folder == (_MACROS,):
            unreadable.add((text, file.path, "a macro: the models that call it may change"))
        elif folder:
            model = _model(file, text, models.get(file.in_project))
            tables[model.names[-1:]] = model
        else:
            for statement in statements_of(text) or (text,):
                alters = alterations(statement)
                table = _script(file, statement)
                if alters is None or (table is None and not alters and _may_move(statement)):
                    start = " ".join(redact(statement).split())[:_MOST_CHARACTERS]
                    unreadable.add((statement, file.path, f"a statement can't be read: {start}"))
                altered |= {(alteration, file.path) for alteration in alters or ()}
                if table and (table.defines or tuple(map(str.lower, table.names)) not in tables):
                    tables[tuple(map(str.lower, table.names))] = table
    return _Reading(tables=tables, altered=frozenset(altered), unreadable=frozenset(unreadable))


def _may_move(statement: str) -> bool:
    """Whether it may write a table: not one that is a mere query, which would have been read."""
    return bool(_MOVES.match(statement)) and read_statement(statement) is None


def _model(file: ChangedFile, text: str, node: Node | None) -> _Written:
    for pattern, plain in _JINJA:
        text = pattern.sub(plain, text)
    statement = read_statement(text.strip().rstrip(";").replace('"', "`"))  # a model may be in any dialect
    name = (node.alias or node.name) if node else PurePosixPath(file.path).stem
    return _Written(
        names=(node.table, name) if node else (name,),
        text=text,
        defines=True,
        columns=(statement.outputs or None) if statement else None,
        place=file.path,
    )


def _script(file: ChangedFile, text: str) -> _Written | None:
    statement = read_statement(text)
    if statement is None or statement.target is None or statement.kind in _END_WITH_SESSION:
        return None
    defines = statement.kind in _DEFINES
    return _Written(
        names=_names(statement.target),
        text=text,
        defines=defines,
        columns=(statement.outputs or None) if defines else None,
        place=file.path,
    )


def _names(table: TableRef) -> tuple[str, ...]:
    return (table.path,) if table.path else (".".join(table.parts), table.parts[-1])


def _compared(old: _Written, new: _Written | None) -> Iterator[TableChange]:
    place = (new or old).place
    if new is None:
        change = Change.DROP if old.defines else Change.REWRITE
        yield TableChange(names=old.names, change=change, place=place)
    elif new.text == old.text:
        return
    elif old.columns is None or new.columns is None:
        change = Change.REWRITE if old.defines or new.defines else Change.KEEP
        yield TableChange(names=new.names, change=change, place=place)
    else:
        names = {name.lower() for name in new.columns}
        dropped = [name for name in old.columns if name.lower() not in names]
        for name in dropped:
            yield TableChange(names=new.names, change=Change.DROP, column=name, place=place)
        if not dropped:
            yield TableChange(names=new.names, change=Change.KEEP, place=place)
