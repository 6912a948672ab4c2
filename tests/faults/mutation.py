"""`python -m tests.faults.mutation FILE… -- PYTEST ARGUMENTS`: list the statements that no test needs.

Each statement of the files is removed by itself in a copy of the project, and the tests are run until the first
failure. Left as they are: imports, docstrings, definitions, and declarations without a value. Unlike general mutation
tools, this one asks a single question: is each line needed?

python -m tests.faults.mutation shared/records/publish_queue.py -- tests/shared/records -q
python -m tests.faults.mutation shared/applications/*.py --lines 40-80 --seconds 60 -- tests/faults/test_exploring.py
"""

import argparse
import ast
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.overlay import ROOT, changed, overlay, run

_KEPT = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Pass)
_BODIES = ("body", "orelse", "finalbody")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A file without one statement, which began at `line` with `text`."""

    file: str
    line: int
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
        removed = [*texts[: first - 1], f"{indent}pass\n", *texts[last:]]
        yield Mutant(file=file, line=first, text=texts[first - 1].strip(), source="".join(removed))


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements that may be removed, outer ones before those in them."""
    for name in _BODIES:
        body = getattr(node, name, [])
        for statement in body if isinstance(body, list) else ():
            if not isinstance(statement, _KEPT) and not _is_text(statement) and not _is_declared(statement):
                yield statement
            yield from _statements(statement)
    for handler in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield from _statements(handler)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_declared(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.AnnAssign) and statement.value is None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0 when the tests failed without each of the statements, else 1."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    split = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults.mutation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a source file, from the project's root")
    parser.add_argument("--lines", default="1-1000000", metavar="FIRST-LAST", help="only statements of these lines")
    parser.add_argument("--seconds", type=float, default=300.0, help="tests that take longer count as failed")
    options = parser.parse_args(words[:split])
    tests = tuple(words[split + 1 :])
    if not tests:
        parser.error("name the tests after --, as for pytest: -- tests/shared/records -q")
    first, last = map(int, options.lines.split("-"))
    mutants = [mutant for file in options.files for mutant in mutants_of(file, _source(file), range(first, last + 1))]
    packages = {Path(file).parts[0] for file in options.files}
    survivors, began = [], time.monotonic()
    with overlay(*packages) as home:
        command = ("pytest", "-x", "-q", "-p", "no:cacheprovider", *tests)
        code, output = run(home, *command, seconds=options.seconds)
        if code:
            _print(f"The tests fail already without a change, or take longer than {options.seconds:.0f} s:")
            _print(output[-2000:])
            return 2
        for number, mutant in enumerate(mutants, start=1):
            with changed(home, {mutant.file: mutant.source}):
                code, _ = run(home, *command, seconds=options.seconds)
            if code == 0:
                survivors.append(mutant)
            _print(f"{number}/{len(mutants)} {'SURVIVES' if code == 0 else 'found'} {mutant}")
    spent = time.monotonic() - began
    _print(f"{len(mutants)} statements removed in {spent:.0f} s, {len(survivors)} survive")
    for mutant in survivors:
        _print(f"  {mutant}")
    return 1 if survivors else 0


def _source(file: str) -> str:
    return (ROOT / file).read_text()


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
