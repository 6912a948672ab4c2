"""Truth files: how a listener's gaps are applied."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.capture.truth import ListenerVersion, Truth, TruthError, not_run
from throughline.local.spark.truth import Edge, Expected

HERE, ELSEWHERE = "spark35-ol1.12", "spark41-ol1.53"
PLAIN = {"input": ["in/a", "x"], "output": ["out", "x"], "kind": "DIRECT", "masked": False}
MASKED = {**PLAIN, "masked": True}
ROWS = {"input": ["in/a", "id"], "output": ["out", None], "kind": "INDIRECT", "masked": False}
OTHER = {"input": ["in/b", "y"], "output": ["out", "y"], "kind": "DIRECT", "masked": False}
PROCESS = {
    "output": "out",
    "operations": ["insert"],
    "inputs": ["in/a", "in/b"],
    "columns": [MASKED, OTHER],
    "constants": [],
}
FAILED = {"output": "failed", "operations": ["insert"], "inputs": ["in/a"], "columns": []}


def _edge(value: dict[str, Any]) -> Edge:
    return (tuple(value["input"]), tuple(value["output"]), value["kind"], value["masked"])


def _edges(*values: dict[str, Any]) -> frozenset[Edge]:
    return frozenset(map(_edge, values))


def _write(folder: Path, **parts: Any) -> Path:
    path = folder / "truth.json"
    path.write_text(json.dumps({"processes": [PROCESS], "not_reported": [], "reported_wrongly": [], **parts}))
    return path


def _read(folder: Path, **parts: Any) -> dict[str, Expected]:
    """Return the processes by output, as reported in the capture HERE."""
    return {process.output: process for process in Truth.read(_write(folder, **parts), capture=HERE).processes}


@pytest.mark.parametrize("gap", [{"edge": ROWS}, {"output": "out2", "inputs": ["in/a"]}, {"output": "out2"}])
def test_facts_that_no_listener_reports_are_not_expected(tmp_path: Path, gap: dict[str, Any]) -> None:
    assert _read(tmp_path, not_reported=[{**gap, "reason": "why"}]) == _read(tmp_path)


@pytest.mark.parametrize(
    ("gap", "inputs", "edges"),
    [
        ({"edge": OTHER}, {"in/a", "in/b"}, _edges(MASKED)),
        ({"output": "out", "columns": ["y", "z"]}, {"in/a", "in/b"}, _edges(MASKED)),
        ({"output": "out", "columns": "all"}, {"in/a", "in/b"}, frozenset()),
        ({"output": "out", "inputs": ["in/b"]}, {"in/a"}, _edges(MASKED)),
    ],
)
def test_a_gap_is_removed_only_from_its_captures(
    tmp_path: Path, gap: dict[str, Any], inputs: set[str], edges: frozenset[Edge]
) -> None:
    full_truth = _read(tmp_path)
    reported = _read(tmp_path, not_reported=[{**gap, "only": ["spark35-*"], "reason": "why"}])
    assert reported["out"].inputs == inputs
    assert reported["out"].edges == edges
    assert reported["out"].operations == {"insert"}
    assert _read(tmp_path, not_reported=[{**gap, "only": [ELSEWHERE], "reason": "why"}]) == full_truth


@pytest.mark.parametrize("gap", [{"output": "out"}, {"output": "out", "inputs": ["in/a", "in/b"]}])
def test_a_process_left_without_inputs_is_removed(tmp_path: Path, gap: dict[str, Any]) -> None:
    assert _read(tmp_path, not_reported=[{**gap, "only": [HERE], "reason": "why"}]) == {}


def test_a_gap_with_column_none_removes_the_edges_to_all_rows(tmp_path: Path) -> None:
    process = {**PROCESS, "columns": [MASKED, ROWS]}
    gap = {"output": "out", "columns": [None], "only": [HERE], "reason": "why"}
    assert _read(tmp_path, processes=[process], not_reported=[gap])["out"].edges == _edges(MASKED)


@pytest.mark.parametrize(
    "parts",
    [
        {"not_reported": [{"edge": ROWS, "only": [HERE]}]},
        {"not_reported": [{"output": "out", "columns": ["z"], "only": [HERE]}]},
        {"not_reported": [{"output": "out", "inputs": ["in/c"], "only": [HERE]}]},
        {"not_reported": [{"output": "elsewhere", "only": [HERE]}]},
        {"reported_wrongly": [{"edge": PLAIN, "instead_of": ROWS}]},
        {"reported_wrongly": [{"output": "elsewhere", "operations": ["merge"]}]},
    ],
)
def test_a_gap_in_an_unknown_fact_is_an_error(tmp_path: Path, parts: dict[str, Any]) -> None:
    """Otherwise a closed or misspelt gap would stay in the file."""
    with pytest.raises(TruthError, match=f"truth.json, for {HERE}: (not_reported takes|reported_wrongly)"):
        _read(tmp_path, **parts)


def test_a_wrongly_reported_edge_is_expected(tmp_path: Path) -> None:
    assert _read(tmp_path, reported_wrongly=[{"edge": ROWS}])["out"].edges == _edges(MASKED, OTHER, ROWS)
    assert _read(tmp_path, reported_wrongly=[{"edge": ROWS, "only": [ELSEWHERE]}]) == _read(tmp_path)


def test_a_wrongly_reported_edge_replaces_the_true_one(tmp_path: Path) -> None:
    gap = {"edge": PLAIN, "instead_of": MASKED, "reason": "why"}
    assert _read(tmp_path, reported_wrongly=[gap])["out"].edges == _edges(PLAIN, OTHER)


def test_inputs_and_operations_may_be_reported_wrongly(tmp_path: Path) -> None:
    gaps = [{"output": "out", "inputs": ["in/c"]}, {"output": "out", "operations": ["ctas"], "only": [HERE]}]
    process = _read(tmp_path, reported_wrongly=gaps)["out"]
    assert process.inputs == {"in/a", "in/b", "in/c"}
    assert process.operations == {"ctas"}


def test_a_wrongly_reported_process_is_expected(tmp_path: Path) -> None:
    assert list(_read(tmp_path, reported_wrongly=[{**FAILED, "reason": "why"}])) == ["out", "failed"]
    (instead,) = _read(tmp_path, reported_wrongly=[{**FAILED, "output": "out"}]).values()
    assert instead.inputs == {"in/a"}
    assert instead.edges == frozenset()


def test_wrong_facts_are_added_after_missing_ones_are_removed(tmp_path: Path) -> None:
    gaps = {
        "not_reported": [{"output": "out", "inputs": ["in/a"], "only": [HERE]}],
        "reported_wrongly": [{"output": "out", "inputs": ["in/whole"], "only": [HERE]}],
    }
    assert _read(tmp_path, **gaps)["out"].inputs == {"in/b", "in/whole"}


def test_a_listener_without_masks_and_indirect_edges_need_not_report_them(tmp_path: Path) -> None:
    truth = Truth.read(_write(tmp_path, reported_wrongly=[{"edge": ROWS}]), capture=HERE)
    (process,) = truth.as_reported_by(ListenerVersion(indirect=False, masks=False)).processes
    assert process.edges == _edges(PLAIN, OTHER)
    assert truth.as_reported_by(ListenerVersion(indirect=True, masks=True)) == truth


def test_an_upper_bound_is_an_edge_like_others_to_a_listener_that_cannot_tell(tmp_path: Path) -> None:
    code = {**PLAIN, "kind": "OPAQUE"}
    truth = Truth.read(_write(tmp_path, reported_wrongly=[{"edge": code, "instead_of": MASKED}]), capture=HERE)
    for opaque, reported in ((True, code), (False, PLAIN)):
        (process,) = truth.as_reported_by(ListenerVersion(indirect=False, masks=True, opaque=opaque)).processes
        assert process.edges == _edges(reported, OTHER)


def test_the_first_matching_pattern_describes_a_listener(tmp_path: Path) -> None:
    path = tmp_path / "listeners.json"
    path.write_text(
        json.dumps(
            {
                "*-ol1.12": {"indirect": "none", "masks": False},
                "spark*": {"indirect": "beside", "masks": True, "opaque": True},
            }
        )
    )
    assert ListenerVersion.read(path, capture=HERE) == ListenerVersion(indirect=False, masks=False)
    assert ListenerVersion.read(path, capture=ELSEWHERE) == ListenerVersion(indirect=True, masks=True, opaque=True)
    with pytest.raises(TruthError, match=r"does not say what is reported in dbt-1\.54"):
        ListenerVersion.read(path, capture="dbt-1.54")


def test_a_scenario_can_be_excluded_from_some_captures(tmp_path: Path) -> None:
    path = _write(tmp_path, not_run=[{"only": ["spark4*"], "reason": "no such class"}])
    assert not_run(path, ELSEWHERE) == "no such class"
    assert not_run(path, HERE) is None


def test_the_whole_truth_includes_unreported_facts(tmp_path: Path) -> None:
    gaps = [
        {"edge": ROWS, "reason": "why"},
        {"output": "out", "inputs": ["in/c"], "reason": "why"},
        {"output": "unseen", "inputs": ["in/a"], "reason": "why"},
        {"edge": OTHER, "only": [HERE], "reason": "why"},
    ]
    processes_by_output = {
        process.output: process for process in Truth.whole(_write(tmp_path, not_reported=gaps)).processes
    }
    assert processes_by_output["out"].inputs == {"in/a", "in/b", "in/c"}
    assert processes_by_output["out"].edges == _edges(MASKED, OTHER, ROWS)
    assert processes_by_output["unseen"].inputs == {"in/a"}
