"""`python -m tests.faults.mutation FILE… -- PYTEST ARGUMENTS`: list the statements that no test needs.

Each statement of the files is removed by itself, and the tests that reach it are run until the first failure. Left as
they are: imports, docstrings, definitions, and declarations without a value. Unlike general mutation tools, this one
asks a single question: is each line needed?

python -m tests.faults.mutation shared/records/publish_queue.py -- tests/shared/records
python -m tests.faults.mutation shared/applications/fold.py:40-80 shared/model.py:31 -- tests/shared/applications

The code and the tests are imported once. Each removal happens in a child process of its own, where the function gets
the code of the changed source. First come the tests that reach most lines of the statement, then those that found
removals nearby, then those that reach few other lines of the file; the slow ones come last. A test that does not reach
a statement can't need it. A statement outside of functions needs a copy of the project, and a new start.
"""

import argparse
import contextlib
import gc
import io
import os
import pickle
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any, TypeVar

import pytest
from hypothesis import Phase, settings

from tests.faults.mutants import Mutant, change_functions, functions_of, mutants_of
from tests.faults.overlay import ROOT, changed, overlay, run

_T = TypeVar("_T")
_OPTIONS = ("-x", "-q", "-p", "no:cacheprovider")
_OUTSIDE, _OPEN = "outside of functions", "not found yet"
_ENDED = "its end"
"""What found a statement without which a test took too long, or too much memory."""
_CHEAP = frozenset({"pytestconfig", "record_testsuite_property", "tmp_path_factory"})
"""Fixtures of the session that start nothing."""
_NEARBY = 15
"""Lines: a test that finds a removal is likely to find those around it."""
_SLOW = 3.0
"""Seconds: tests that take longer come last."""
_FIRST_SECONDS = 2.0
"""The first tests of each statement take so long. All others follow when this was done for all statements."""
_MOST_SECONDS = 3.0
"""Of the processor, in addition to four times what a test usually takes: more only an endless loop needs."""
_MOST_BYTES = 4 << 30


class Reach:
    """A plugin of pytest that notes which lines of these files each test reaches, and how long it takes."""

    def __init__(self, files: Iterable[str]) -> None:
        self.lines: dict[str, set[tuple[str, int]]] = {}
        self.seconds: dict[str, float] = {}
        self._files = frozenset(files)
        self._lines: set[tuple[str, int]] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Trace a test."""
        self._lines, began = self.lines.setdefault(item.nodeid, set()), time.perf_counter()
        threading.settrace(self._enter)
        sys.settrace(self._enter)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)
            self.seconds[item.nodeid] = time.perf_counter() - began + (_SLOW if _shares(item) else 0.0)

    def _enter(self, frame: FrameType, _event: str, _argument: object) -> Callable[..., Any] | None:
        return self._line if frame.f_code.co_filename in self._files else None

    def _line(self, frame: FrameType, _event: str, _argument: object) -> Callable[..., Any]:
        self._lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line


def _shares(item: pytest.Item) -> bool:
    """Whether a test needs something of the session, mostly a server: each child process has to start its own."""
    fixtures = item._fixtureinfo.name2fixturedefs if isinstance(item, pytest.Function) else {}
    return any(fixtures[name][-1].scope == "session" for name in fixtures.keys() - _CHEAP)


@dataclass(slots=True, kw_only=True)
class Experience:
    """What is known of the tests: `by_line`: those that reach a line of a file; `extent`: how many lines of a file one
    reaches; `seconds` of each; `finders`: which found the removal of a line of a file.
    """

    by_line: Mapping[tuple[str, int], Sequence[str]]
    extent: Mapping[tuple[str, str], int]
    seconds: Mapping[str, float]
    finders: list[tuple[str, int, str]] = field(default_factory=list)

    @classmethod
    def of(cls, reach: Reach) -> "Experience":
        """From what the tests reach."""
        by_line = defaultdict[tuple[str, int], list[str]](list)
        for test, lines in reach.lines.items():
            for line in lines:
                by_line[line].append(test)
        extent = Counter((test, file) for test, lines in reach.lines.items() for file, _ in lines)
        return cls(by_line=dict(by_line), extent=extent, seconds=reach.seconds)

    def order(self, mutant: Mutant) -> list[str]:
        """The tests that reach a statement, those first that are most likely to find at once that it is missing: they
        reach most of its lines, or found others nearby.
        """
        file = str(ROOT / mutant.file)
        lines = range(mutant.line, mutant.last + 1)
        reached = Counter(test for line in lines for test in self.by_line.get((file, line), ()))
        finders = [(line, test) for found_file, line, test in self.finders if found_file == mutant.file]
        everywhere = Counter(test for _, test in finders)
        nearby = Counter(test for line, test in finders if abs(line - mutant.line) <= _NEARBY)
        return sorted(
            reached,
            key=lambda test: (
                self.seconds[test] > _SLOW,
                -reached[test],
                -nearby[test],
                -everywhere[test],
                self.extent[test, file],
                self.seconds[test],
            ),
        )


def in_children(works: Iterable[Callable[[], _T]], at_once: int) -> Iterator[tuple[int, _T | None]]:
    """The results of these, each done by a child process of its own, so many at a time, with their positions; None
    where a signal ended the child. What is to be done is asked for when a child may begin.
    """
    running: dict[int, int] = {}
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:

        def end() -> tuple[int, _T | None]:
            process, status = os.wait()
            number = running.pop(process)
            if (code := os.waitstatus_to_exitcode(status)) > 0:
                raise ChildProcessError(f"child {number} ended with {code}")
            return number, None if code else pickle.loads((Path(folder) / str(number)).read_bytes())  # noqa: S301 - ours

        for number, work in enumerate(works):
            if len(running) >= at_once:
                yield end()
            running[_fork(work, Path(folder) / str(number))] = number
        while running:
            yield end()


def _fork(work: Callable[[], object], path: Path) -> int:
    """The id of a child process that does this, and writes its result."""
    process = os.fork()
    if process:
        return process
    try:
        path.write_bytes(pickle.dumps(work()))
        os._exit(0)
    except BaseException:  # noqa: BLE001 - the child must not go on as if it were its parent
        traceback.print_exc(file=sys.__stderr__)
    finally:
        os._exit(1)


@dataclass(slots=True, kw_only=True)
class Hunt:
    """A plugin of pytest that, instead of running the tests, removes each statement and looks for a test that fails.

    `seconds`: how long one test may take; `at_once`: processes. Afterwards `survivors` has what no test found, and
    `error` why nothing was tried.
    """

    mutants: Sequence[Mutant]
    seconds: float
    at_once: int
    survivors: list[Mutant] = field(default_factory=list)
    error: str = ""
    _failed: list[str] = field(default_factory=list)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Do all of it."""
        self.error = "The tests can't be collected" if session.testsfailed else ""
        if not self.error:
            self._hunt(session)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note that a test failed."""
        if report.failed:
            self._failed.append(f"{report.nodeid}\n{report.longreprtext[-2000:]}")

    def _hunt(self, session: pytest.Session) -> None:
        files = {str(ROOT / mutant.file) for mutant in self.mutants}
        gc.unfreeze()  # what is frozen is not listed
        functions = {file: functions_of(file) for file in files}
        gc.freeze()
        items = {item.nodeid: item for item in session.items}
        [(_, learned)] = in_children([partial(self._learn, session.items, Reach(files))], 1)
        if not isinstance(learned, Experience):
            self.error = f"The tests fail already without a change: {learned}"
            return
        _print(f"{len(items)} tests, {len(self.mutants)} statements")
        remaining, outside = list(self.mutants), list[Mutant]()
        for is_first in (True, False):
            searches = [partial(self._search, items, learned, functions, mutant, is_first) for mutant in remaining]
            mutants, remaining = remaining, []
            for number, finder in in_children(searches, self.at_once):
                mutant = mutants[number]
                if finder == _OUTSIDE:
                    outside.append(mutant)
                elif finder == _OPEN:
                    remaining.append(mutant)
                    _print(f"not found yet {mutant}")
                else:
                    self._note(mutant, _ENDED if finder is None else finder)
                    learned.finders.append((mutant.file, mutant.line, finder or ""))
        quickest = [_path(items[test]) for test in sorted(items, key=lambda test: learned.seconds[test])]
        with overlay(*{Path(mutant.file).parts[0] for mutant in outside}) as home:
            for mutant in outside:
                with changed(home, {mutant.file: mutant.source}):
                    code, _ = run(home, "pytest", *_OPTIONS, *quickest, seconds=10 * self.seconds)
                self._note(mutant, "all tests in a new process" if code else "")

    def _note(self, mutant: Mutant, finder: str) -> None:
        if not finder:
            self.survivors.append(mutant)
        _print(f"{f'found by {finder}:' if finder else 'SURVIVES'} {mutant}")

    def _learn(self, items: Sequence[pytest.Item], reach: Reach) -> Experience | str:
        """Run the tests without a change: what is known of them then, or which one failed and why."""
        items[0].config.pluginmanager.register(reach)
        self._run(items)
        return self._failed[0] if self._failed else Experience.of(reach)

    def _search(
        self,
        items: Mapping[str, pytest.Item],
        experience: Experience,
        functions: Mapping[str, Sequence[FunctionType]],
        mutant: Mutant,
        is_first: bool,
    ) -> str:
        """The test that fails without a statement, if one does; _OUTSIDE if it is in no function, _OPEN if there are
        tests which the first search leaves to the second.
        """
        file = str(ROOT / mutant.file)
        if not change_functions(functions[file], mutant.source, file):
            return _OUTSIDE
        resource.setrlimit(resource.RLIMIT_DATA, (_MOST_BYTES, _MOST_BYTES))
        tests = experience.order(mutant)
        sums = list(accumulate(experience.seconds[test] for test in tests))
        split = max(1, bisect_right(sums, _FIRST_SECONDS))
        self._run([items[test] for test in (tests[:split] if is_first else tests)], experience.seconds)
        if self._failed:
            return self._failed[0].partition("\n")[0]
        return _OPEN if is_first and tests[split:] else ""

    def _run(self, items: Sequence[pytest.Item], seconds: Mapping[str, float] | None = None) -> None:
        """Run tests until the first failure; one that takes much longer than these `seconds` ends this process."""
        for item, further_item in zip(items, (*items[1:], None), strict=False):
            if seconds:  # their signals end it
                signal.setitimer(signal.ITIMER_REAL, self.seconds + 10 * seconds[item.nodeid])
                signal.setitimer(signal.ITIMER_PROF, _MOST_SECONDS + 4 * seconds[item.nodeid])
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=further_item)
            if self._failed:
                item.session._setupstate.teardown_exact(None)
                return


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0 when the tests failed without each of the statements, else 1."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    split = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults.mutation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files", nargs="+", metavar="FILE[:FIRST[-LAST]]", help="a source file, from the project's root"
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="a test that takes longer counts as failed")
    parser.add_argument("--at-once", type=int, default=os.cpu_count() or 1, metavar="N", help="processes")
    options = parser.parse_args(words[:split])
    tests = words[split + 1 :]
    if not tests:
        parser.error("name the tests after --, as for pytest: -- tests/shared/records")
    mutants = [mutant for file in options.files for mutant in _mutants(file)]
    hunt, began, output = (
        Hunt(mutants=mutants, seconds=options.seconds, at_once=options.at_once),
        time.monotonic(),
        io.StringIO(),
    )
    with tempfile.TemporaryDirectory(prefix="mutation-tests-") as folder, contextlib.redirect_stdout(output):
        # nothing is captured, and no timer is set but ours; the files of tests go with this process
        # a failure is neither explained nor made smaller
        settings.register_profile("mutation", phases=(Phase.explicit, Phase.generate), database=None)
        settings.load_profile("mutation")
        own_options = (
            "-s",
            "--timeout=0",
            "--tb=line",
            "--assert=plain",
            f"--basetemp={folder}/tests",
            "-o",
            "tmp_path_retention_policy=none",
        )
        code = pytest.main([*_OPTIONS, *own_options, *tests], [hunt])
    if hunt.error or code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        _print(f"{hunt.error}\n{output.getvalue()[-2000:]}")
        return 2
    spent = time.monotonic() - began
    _print(f"{len(mutants)} statements removed in {spent:.0f} s, {len(hunt.survivors)} survive")
    for mutant in hunt.survivors:
        _print(f"  {mutant}")
    return 1 if hunt.survivors else 0


def _path(item: pytest.Item) -> str:
    """A test as an argument of pytest, in a copy of the project too."""
    return item.nodeid if item.path.is_relative_to(ROOT) else f"{item.path}::{item.nodeid.partition('::')[2]}"


def _mutants(argument: str) -> Iterator[Mutant]:
    """The mutants of a file, or of some lines of it."""
    file, _, lines = argument.partition(":")
    first, _, last = lines.partition("-")
    source = (ROOT / file).read_text()
    return mutants_of(file, source, range(int(first or 1), int(last or first or source.count("\n")) + 1))


def _print(text: str) -> None:
    print(text, file=sys.__stdout__, flush=True)


if __name__ == "__main__":
    sys.exit(main())
