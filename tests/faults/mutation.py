"""`python -m tests.faults.mutation FILE… -- PYTEST ARGUMENTS`: list the statements that no test needs.

Each statement of the files is removed by itself, and the tests that reach it are run until the first failure. Left as
they are: imports, docstrings, definitions, and declarations without a value. Unlike general mutation tools, this one
asks a single question: is each line needed?

python -m tests.faults.mutation shared/records/publish_queue.py -- tests/shared/records
python -m tests.faults.mutation shared/applications/*.py --lines 40-80 --seconds 60 -- tests/shared/applications

The code and the tests are imported once. Each removal happens in a child process of its own, where the function gets
the code of the changed source; a statement outside of functions needs a copy of the project, and a new start.
"""

import argparse
import ast
import contextlib
import gc
import io
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

from tests.faults.overlay import ROOT, changed, overlay, run

_KEPT = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Pass)
_BODIES = ("body", "orelse", "finalbody")
_OPTIONS = ("-x", "-q", "-p", "no:cacheprovider")
_OUTSIDE = 99
"""The exit code for a statement that is in no function."""
_QUICK = 40
"""Tests that are run before all others: the first that reach a statement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A file without one statement, which began at `line` with `text`; the other lines keep their numbers."""

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
        removed = [*texts[: first - 1], f"{indent}pass\n", *["\n"] * (last - first), *texts[last:]]
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


class Reach:
    """A plugin of pytest that notes by which tests, with their seconds, each line of these files was reached."""

    def __init__(self, files: Iterable[str]) -> None:
        self.tests: dict[tuple[str, int], set[str]] = defaultdict(set)
        self.seconds: dict[str, float] = {}
        self._files = frozenset(files)
        self._test = ""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Trace a test."""
        self._test, began = item.nodeid, time.perf_counter()
        threading.settrace(self._enter)
        sys.settrace(self._enter)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)
            self.seconds[item.nodeid] = time.perf_counter() - began

    def _enter(self, frame: FrameType, _event: str, _argument: object) -> Callable[..., Any] | None:
        return self._line if frame.f_code.co_filename in self._files else None

    def _line(self, frame: FrameType, _event: str, _argument: object) -> Callable[..., Any]:
        self.tests[frame.f_code.co_filename, frame.f_lineno].add(self._test)
        return self._line

    def order(self, file: str, line: int) -> list[str]:
        """The tests that reach a line, the quickest first."""
        return sorted(self.tests.get((file, line), ()), key=lambda test: (self.seconds[test], test))


def codes_of(source: str, file: str) -> dict[tuple[str, int], CodeType]:
    """The code of each function of a source, by its qualified name and first line."""
    pending, codes = [compile(source, file, "exec")], dict[tuple[str, int], CodeType]()
    while pending:
        code = pending.pop()
        codes[code.co_qualname, code.co_firstlineno] = code
        pending += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return codes


def change_functions(source: str, file: str) -> bool:
    """Give the functions of this file that are in memory the code of another source; whether one was changed."""
    codes, is_changed = codes_of(source, file), False
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and function.__code__.co_filename == file:
            code = codes.get((function.__code__.co_qualname, function.__code__.co_firstlineno))
            if code and code != function.__code__ and code.co_freevars == function.__code__.co_freevars:
                function.__code__ = code
                is_changed = True
    return is_changed


def _in_children(mutants: Iterable[Mutant], work: Callable[[Mutant], int]) -> Iterator[tuple[Mutant, int]]:
    """Call `work` for each mutant in a child process of its own, some at a time: its result, or less than 0 if the
    child was ended.
    """
    running: dict[int, Mutant] = {}
    for mutant in mutants:
        if len(running) >= (os.cpu_count() or 1):
            yield _end_of_child(running)
        running[_fork(partial(work, mutant))] = mutant
    while running:
        yield _end_of_child(running)


def _end_of_child(running: dict[int, Mutant]) -> tuple[Mutant, int]:
    process, status = os.wait()
    return running.pop(process), os.waitstatus_to_exitcode(status)


def _fork(work: Callable[[], int]) -> int:
    """The id of a child process that does this, and ends with its result."""
    process = os.fork()
    if process:
        return process
    try:
        os._exit(work())
    finally:  # a child that raises something must not go on as if it were its parent
        traceback.print_exc()
        os._exit(1)


def _pytest(arguments: Sequence[str], *plugins: object) -> tuple[int, str]:
    """Run tests in this process: their exit code and output."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        code = int(pytest.main([*_OPTIONS, *arguments], plugins))
    return code, output.getvalue()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunt:
    """Looks for a failing test: `tests` as arguments of pytest, for so many `seconds` for one mutant."""

    tests: tuple[str, ...]
    seconds: float
    reach: Reach

    def learn(self, results: Path) -> int:
        """Run the tests without a change, and write which lines they reach; their exit code."""
        code, output = _pytest(self.tests, self.reach)
        results.write_bytes(pickle.dumps((dict(self.reach.tests), self.reach.seconds)))
        _print(f"The tests fail already without a change:\n{output[-2000:]}" if code else output.splitlines()[-1])
        return code

    def search(self, mutant: Mutant) -> int:
        """The exit code of the tests without a statement; _OUTSIDE if it is in no function."""
        signal.setitimer(signal.ITIMER_REAL, self.seconds)  # its signal ends the process
        file = str(ROOT / mutant.file)
        if not change_functions(mutant.source, file):
            return _OUTSIDE
        quick_tests = self.reach.order(file, mutant.line)[:_QUICK]
        code = _pytest(quick_tests)[0] if quick_tests else 0
        return code if code == pytest.ExitCode.TESTS_FAILED else _pytest(self.tests)[0]

    def search_outside(self, mutants: Sequence[Mutant]) -> Iterator[tuple[Mutant, int]]:
        """As `search`, for statements that are in no function: in a copy of the project."""
        with overlay(*{Path(mutant.file).parts[0] for mutant in mutants}) as home:
            for mutant in mutants:
                with changed(home, {mutant.file: mutant.source}):
                    yield mutant, run(home, "pytest", *_OPTIONS, *self.tests, seconds=self.seconds)[0]

    def results(self, mutants: Sequence[Mutant]) -> Iterator[tuple[Mutant, int]]:
        """Each mutant with the exit code of the tests."""
        outside: list[Mutant] = []
        for mutant, code in _in_children(mutants, self.search):
            if code == _OUTSIDE:
                outside.append(mutant)
            else:
                yield mutant, code
        yield from self.search_outside(outside)


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
        parser.error("name the tests after --, as for pytest: -- tests/shared/records")
    first, last = map(int, options.lines.split("-"))
    mutants = [mutant for file in options.files for mutant in mutants_of(file, _source(file), range(first, last + 1))]
    hunt = Hunt(tests=tests, seconds=options.seconds, reach=Reach(str(ROOT / file) for file in options.files))
    survivors, began = [], time.monotonic()
    _pytest([*tests, "--collect-only"])  # imports the code and the tests for all children
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        results = Path(folder) / "reach"
        _fork(partial(hunt.learn, results))
        if os.waitstatus_to_exitcode(os.wait()[1]):
            return 2
        lines, seconds = pickle.loads(results.read_bytes())  # noqa: S301 - a child of this process has written it
    hunt.reach.tests.update(lines)
    hunt.reach.seconds.update(seconds)
    for number, (mutant, code) in enumerate(hunt.results(mutants), start=1):
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
