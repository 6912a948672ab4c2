"""The source columns of expressions."""

from collections.abc import Callable

from sqlglot import exp

from shared.translation.sql.parsing import nodes
from shared.translation.sql.relations import Origins, Scope, Source

Evaluate = Callable[[exp.Expr, Scope], tuple[list[Origins], frozenset[Source]]]
"""Evaluates a query inside an expression in the enclosing scope: its columns, and its row dependencies."""

_CONSTANT = (
    exp.Literal,
    exp.Null,
    exp.Boolean,
    exp.HexString,
    exp.RawString,
    exp.National,
    exp.Interval,
    exp.IntervalSpan,
    exp.Cast,
    exp.Neg,
    exp.Paren,
    exp.Add,
    exp.Sub,
    exp.Mul,
    exp.Div,
)
"""Nodes that keep an expression of literals constant. Functions do not: `current_date()` is no constant."""

_NO_VALUE = (exp.Identifier, exp.Var, exp.DataType, exp.Hint)


def origins_of(node: object, scope: Scope, evaluate: Evaluate) -> Origins:
    """The origins of an expression: direct ones give its value, indirect ones only select it (conditions of CASE and
    IF, a window's partitions and order, filters of queries inside).
    """
    direct: set[Source] = set()
    indirect: set[Source] = set()
    constant = isinstance(node, exp.Expr)
    stack: list[tuple[object, bool]] = [(node, True)]
    while stack:
        part, gives_value = stack.pop()
        if not isinstance(part, exp.Expr) or isinstance(part, _NO_VALUE):
            continue
        found: list[Origins] | None = None
        if isinstance(part, exp.Column):
            resolved = _column(part, scope)
            constant = constant and resolved is not None and resolved.constant
            found = [resolved] if resolved else []
        elif isinstance(part, exp.Query):
            constant = False
            found, rows = evaluate(part, scope)
            indirect |= rows
        if found is None:
            constant = constant and isinstance(part, _CONSTANT)
            stack += _parts(part, gives_value)
            continue
        for origins in found:
            (direct if gives_value else indirect).update(origins.direct)
            indirect |= origins.indirect
    return Origins(direct=frozenset(direct), indirect=frozenset(indirect - direct), constant=constant)


def _column(node: exp.Column, scope: Scope) -> Origins | None:
    if isinstance(node.this, exp.Star):
        return None
    parts = tuple(part.name for part in node.parts if isinstance(part, exp.Identifier))
    unquoted_default = parts[0].upper() == "DEFAULT" and len(parts) == 1 if parts else True
    return None if unquoted_default else scope.resolve(parts)


def _parts(node: exp.Expr, gives_value: bool) -> list[tuple[object, bool]]:
    """A node's child expressions, and whether each gives the value or only selects it."""
    args = node.args
    if isinstance(node, exp.Exists):
        return [(child, False) for child in node.iter_expressions()]
    if isinstance(node, exp.Case):
        branches = [branch for branch in nodes(node, "ifs") if isinstance(branch, exp.If)]
        values = [(branch.args.get("true"), gives_value) for branch in branches]
        return [
            *values,
            (args.get("default"), gives_value),
            (node.this, False),
            *((each.this, False) for each in branches),
        ]
    if isinstance(node, exp.If):
        return [(node.this, False), (args.get("true"), gives_value), (args.get("false"), gives_value)]
    if isinstance(node, exp.Window | exp.Filter):
        return [(child, gives_value and child is node.this) for child in node.iter_expressions()]
    return [(child, gives_value) for child in node.iter_expressions()]
