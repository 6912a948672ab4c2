"""Mutation: each statement is removed once; the command lists those whose removal no test finds."""

from pathlib import Path

import pytest

from tests.faults import mutation
from tests.faults.mutation import main, mutants_of

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


TESTS = """
from code_under_test import double, forget

def test_it():
    assert double(2) == 4
    forget([])
"""
CODE = "def double(number):\n    return 2 * number\n\n\ndef forget(values):\n    values.clear()\n"


def test_the_command_lists_what_no_test_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_code.py").write_text(TESTS)
    (tmp_path / "code_under_test.py").write_text(CODE)
    monkeypatch.setattr(mutation, "ROOT", tmp_path)
    monkeypatch.setattr("tests.faults.overlay.ROOT", tmp_path)
    assert main(["code_under_test.py", "--", "test_code.py"]) == 1
    output = capsys.readouterr().out
    assert "found code_under_test.py:2: return 2 * number" in output
    assert "SURVIVES code_under_test.py:6: values.clear()" in output
    assert "2 statements removed" in output
    assert main(["code_under_test.py", "--lines", "2-2", "--", "test_code.py"]) == 0
    (tmp_path / "test_code.py").write_text("def test_it():\n    assert False\n")
    assert main(["code_under_test.py", "--", "test_code.py"]) == 2
