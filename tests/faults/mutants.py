"""A source file without one of its statements, and the functions in memory that get its code."""

import ast
import gc
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType

_KEPT = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Pass)
_BODIES = ("body", "orelse", "finalbody")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A file without one statement, from `line` to `last`, which began with `text`; the other lines keep their
    numbers.
    """

    file: str
    line: int
    last: int
    text: str
    source: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


def mutants_of(file: str, source: str, lines: range) -> Iterator[Mutant]:
    """Yield the file without each of its statements that begin in these lines."""
    texts = source.splitlines(keepends=True)
    for statement in _statements(ast.parse(source)):
        first, last = statement.lineno, statement.end_lineno or statement.lineno
        if first not in lines:
            continue
        indent = " " * statement.col_offset
        removed = [*texts[: first - 1], f"{indent}pass\n", *["\n"] * (last - first), *texts[last:]]
        yield Mutant(file=file, line=first, last=last, text=texts[first - 1].strip(), source="".join(removed))


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements that may be removed, outer ones before those in them."""
    for name in _BODIES:
        body = getattr(node, name, [])
        for statement in body if isinstance(body, list) else ():
            if not _is_kept(statement):
                yield statement
            yield from _statements(statement)
    for handler in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield from _statements(handler)


def _is_kept(statement: ast.stmt) -> bool:
    """Whether it defines or imports something, is a docstring, or declares a name only."""
    match statement:
        case ast.AnnAssign(value=None) | ast.Expr(value=ast.Constant()):
            return True
        case _:
            return isinstance(statement, _KEPT)


def codes_of(source: str, file: str) -> dict[tuple[str, int], CodeType]:
    """The code of each function of a source, by its qualified name and first line."""
    pending, codes = [compile(source, file, "exec")], dict[tuple[str, int], CodeType]()
    while pending:
        code = pending.pop()
        codes[code.co_qualname, code.co_firstlineno] = code
        pending += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return codes


def functions_of(file: str) -> list[FunctionType]:
    """The functions of a file that are in memory."""
    functions = (value for value in gc.get_objects() if isinstance(value, FunctionType))
    return [function for function in functions if function.__code__.co_filename == file]


def change_functions(functions: Iterable[FunctionType], source: str, file: str) -> bool:
    """Give these functions of a file the code of another source; whether one was changed."""
    codes, is_changed = codes_of(source, file), False
    for function in functions:
        code = codes.get((function.__code__.co_qualname, function.__code__.co_firstlineno))
        if code and code != function.__code__ and code.co_freevars == function.__code__.co_freevars:
            function.__code__ = code
            is_changed = True
    return is_changed
