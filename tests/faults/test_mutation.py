"""Mutation: each statement is removed once; the command lists those whose removal no test finds."""

import re
import subprocess
import sys
from pathlib import Path

from tests.faults.mutants import mutants_of
from tests.faults.overlay import ROOT

SOURCE = '''"""A module."""

import os

LIMIT = 3


def first(values: list[int]) -> int:
    """A function."""
    found: int
    for value in values:
        if value > LIMIT:
            found = value
            break
        elif not value:
            continue
    else:
        raise ValueError(
            os.sep
        )
    return found
'''


def test_each_statement_is_removed_once_and_the_rest_still_compiles() -> None:
    mutants = list(mutants_of("module.py", SOURCE, range(1, 100)))
    texts = [mutant.text for mutant in mutants]
    assert texts == [
        "LIMIT = 3",
        "for value in values:",
        "if value > LIMIT:",
        "found = value",
        "break",
        "elif not value:",
        "continue",
        "raise ValueError(",
        "return found",
    ]
    for mutant in mutants:
        compile(mutant.source, mutant.file, "exec")
        assert mutant.source != SOURCE
    assert str(mutants[0]) == "module.py:5: LIMIT = 3"
    assert [mutant.line for mutant in mutants_of("module.py", SOURCE, range(12, 14))] == [12, 13]


FILE = "shared/records/waits.py"
TESTS = """
from shared.records.waits import NEVER, NOTHING_BEGUN

def test_it():
    assert NOTHING_BEGUN.is_open(NEVER) is False
    NOTHING_BEGUN.must_repeat(NEVER)
"""


def mutate(tests: Path, lines: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "tests.faults.mutation", f"{FILE}:{lines}", "--", str(tests)]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return process.returncode, process.stdout


def test_the_command_lists_what_no_test_finds(tmp_path: Path) -> None:
    texts = (ROOT / FILE).read_text().splitlines()
    constant, found, survivor = (
        next(number for number, text in enumerate(texts, start=1) if text.strip().startswith(start))
        for start in ("_MOST_DOUBLINGS =", "return now < self.until", "return NEVER < self.again")
    )
    tests = tmp_path / "test_code.py"
    tests.write_text(TESTS)
    code, output = mutate(tests, f"{found}-{survivor}")
    assert code == 1
    assert f"SURVIVES {FILE}:{survivor}: return NEVER" in output
    assert "2 statements removed" in output
    assert re.search(r"found by \S*test_code\.py:", output), "its folder is named as pytest does"
    code, output = mutate(tests, f"{constant}-{constant}")
    assert (code, "1 survive" in output) == (1, True), "outside of functions"
    tests.write_text("def test_it():\n    assert False\n")
    assert mutate(tests, f"{found}-{found}")[0] == 2
