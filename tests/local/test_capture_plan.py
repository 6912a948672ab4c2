"""The plan of `python -m tests.capture`, and the results in docs/reference/coverage.md."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.capture.__main__ import plan
from tests.capture.coverage import Cell, gaps
from tests.capture.runner import CaptureError, _alone_in
from tests.capture.scenario import GOLDEN, MATRIX, Scenario, Versions, scenarios
from throughline.local.toolchain.versions import SPARK_4

EDGE = {"input": ["in", "id"], "output": ["out", "id"], "kind": "DIRECT", "masked": False}


def _scenario(folder: Path, job: dict[str, Any] | None = None, **truth: Any) -> Scenario:
    script = folder / "made_up.py"
    script.with_suffix(".truth.json").write_text(
        json.dumps({"processes": [], "not_reported": [], "reported_wrongly": [], **truth})
    )
    if job:
        script.with_suffix(".job.json").write_text(json.dumps(job))
    return Scenario(name="made_up", script=script)


def _places(scenario: Scenario, *versions: Versions, missing: bool = False) -> list[str]:
    return [versions_planned.name for _, versions_planned in plan([scenario], versions, missing=missing)]


def test_a_spark_job_runs_on_every_version_that_its_truth_does_not_exclude(tmp_path: Path) -> None:
    scenario = _scenario(tmp_path, not_run=[{"only": ["*-ol1.12", "spark4*"], "reason": "why"}])
    assert _places(scenario, *MATRIX) == ["spark35-ol1.25", "spark35-ol1.37", "spark35-ol1.53"]


def test_a_scenario_without_spark_runs_once(tmp_path: Path) -> None:
    assert len(_places(_scenario(tmp_path, {"kind": "python", "system": "dbt"}), *MATRIX)) == 1


def test_kept_captures_are_not_planned_with_missing(tmp_path: Path) -> None:
    kept_name = next(iter(GOLDEN.glob("spark35-ol1.53/*/events.jsonl"))).parent.name
    version = Versions()
    assert _places(scenarios()[kept_name], version, missing=True) == []
    assert _places(scenarios()[kept_name], version) == [version.name]
    assert _places(_scenario(tmp_path), *MATRIX, missing=True) == [matrix_entry.name for matrix_entry in MATRIX]


def test_the_matrix_has_every_listener_and_both_sparks() -> None:
    assert [matrix_entry.name for matrix_entry in MATRIX] == [
        *("spark35-ol1.12", "spark35-ol1.25", "spark35-ol1.37", "spark35-ol1.53"),
        Versions(platform=SPARK_4).name,
    ]


def test_two_captures_do_not_share_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "python" / "shop"
    with _alone_in(folder):
        (folder / "old").touch()
        with pytest.raises(CaptureError, match="shop is being captured by another process"), _alone_in(folder):
            pass
    with _alone_in(folder):
        assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (Cell(capture="c", differences=(), missing=0, wrong=0), "full"),
        (Cell(capture="c", differences=(), missing=2, wrong=0), "gaps: 2 not reported"),
        (Cell(capture="c", differences=(), missing=1, wrong=3), "gaps: 1 not reported, 3 wrong"),
        (Cell(capture="c", differences=("x", "y"), missing=1, wrong=0), "**differs (2)**"),
    ],
)
def test_a_result_has_a_short_form(cell: Cell, expected: str) -> None:
    assert str(cell) == expected


def test_each_reason_is_listed_once_with_its_facts_and_captures(tmp_path: Path) -> None:
    scenario = _scenario(
        tmp_path,
        not_reported=[
            {"edge": EDGE, "reason": "a UDF"},
            {"output": "out", "columns": ["a", None], "reason": "a UDF"},
            {"output": "out", "inputs": ["in"], "only": ["spark4*"], "reason": "no event"},
        ],
        reported_wrongly=[{"output": "out", "operations": ["ctas", "insert"], "reason": "two runs"}],
        not_run=[{"only": ["*-ol1.12"], "reason": "no such class"}],
    )
    assert list(gaps(scenario)) == [
        "### made_up",
        "",
        "- *not reported* (everywhere): `out.id ← in.id`, `out.a`, `out.*`: a UDF",
        "- *not reported* (`spark4*`): `out ← in`: no event",
        "- *reported wrongly* (everywhere): `out` as ctas, insert: two runs",
        "- *not run* (`*-ol1.12`): no such class",
        "",
    ]
