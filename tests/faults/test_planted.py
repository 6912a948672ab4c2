"""Planted mistakes: each has its place in the source, and the command finds one or says that nothing does."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults import planted
from tests.faults.interleavings import CASES
from tests.faults.overlay import ROOT
from tests.faults.planted import MISTAKES, Mistake, main


@pytest.mark.parametrize("mistake", MISTAKES, ids=[mistake.name for mistake in MISTAKES])
def test_each_mistake_has_its_place_and_its_searches(mistake: Mistake) -> None:
    compile(mistake.source(ROOT), mistake.file, "exec")
    assert mistake.searches()
    assert set(mistake.cases) <= {case.name for case in CASES}


def test_a_mistake_whose_place_has_gone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text("x = 1\nx = 1\n")
    for original in ("y = 1\n", "x = 1\n"):
        mistake = Mistake(name="a mistake", file="code.py", original=original, mistaken="")
        with pytest.raises(ValueError, match="its place is there"):
            mistake.source(tmp_path)


def test_the_command_finds_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    name = "runs are not translated again when facts of their application become known"
    assert main(["--mistake", name]) == 0
    assert "found by tests.faults.interleavings --case a fact that is known late" in capsys.readouterr().out


def test_the_command_fails_for_a_mistake_that_nothing_finds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    harmless = replace(MISTAKES[0], name="harmless", mistaken=MISTAKES[0].original, cases=("START and end of a run",))
    monkeypatch.setattr(planted, "MISTAKES", (replace(harmless, seeds=(0, 1)),))
    assert main([]) == 1
    assert "harmless: NOT FOUND by 2 searches" in capsys.readouterr().out
