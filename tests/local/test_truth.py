"""Truth files: how the gaps of a listener are taken into account."""

import json
from pathlib import Path
from typing import Any

import pytest

from local.truth import Expected, Listener, Truth

PLAIN = {"input": ["in/a", "x"], "output": ["out", "x"], "kind": "DIRECT", "masked": False}
MASKED = {**PLAIN, "masked": True}
ROWS = {"input": ["in/a", "id"], "output": ["out", None], "kind": "INDIRECT", "masked": False}
PROCESS = {"output": "out", "operations": ["insert"], "inputs": ["in/a"], "columns": [MASKED], "constants": []}


def _edge(value: dict[str, Any]) -> tuple[Any, ...]:
    return (tuple(value["input"]), tuple(value["output"]), value["kind"], value["masked"])


def _read(folder: Path, *, not_told: Any = (), told_wrongly: Any = ()) -> tuple[Expected, ...]:
    path = folder / "truth.json"
    path.write_text(json.dumps({"processes": [PROCESS], "not_told": not_told, "told_wrongly": told_wrongly}))
    return Truth.read(path).processes


def _edges(processes: tuple[Expected, ...]) -> set[tuple[Any, ...]]:
    (process,) = processes
    return set(process.edges)


@pytest.mark.parametrize(
    "gap", [{"edge": ROWS, "reason": "why"}, {"output": "out2", "inputs": ["in/a"], "reason": "why"}]
)
def test_what_is_not_told_is_not_expected(tmp_path: Path, gap: dict[str, Any]) -> None:
    assert _read(tmp_path, not_told=[gap]) == _read(tmp_path)


def test_an_edge_that_is_told_wrongly_is_expected(tmp_path: Path) -> None:
    assert _edges(_read(tmp_path, told_wrongly=[{"edge": ROWS, "reason": "why"}])) == {_edge(MASKED), _edge(ROWS)}


def test_an_edge_that_is_told_in_the_place_of_another_replaces_it(tmp_path: Path) -> None:
    gap = {"edge": PLAIN, "instead_of": MASKED, "reason": "why"}
    assert _edges(_read(tmp_path, told_wrongly=[gap])) == {_edge(PLAIN)}


def test_an_input_that_is_told_wrongly_is_expected(tmp_path: Path) -> None:
    (process,) = _read(tmp_path, told_wrongly=[{"output": "out", "inputs": ["in/b"], "reason": "why"}])
    assert process.inputs == {"in/a", "in/b"}


def test_a_process_that_is_told_wrongly_is_expected(tmp_path: Path) -> None:
    gap = {"output": "failed", "operations": ["insert"], "inputs": ["in/a"], "columns": [], "reason": "why"}
    assert [process.output for process in _read(tmp_path, told_wrongly=[gap])] == ["out", "failed"]


def test_a_listener_without_masks_and_indirect_edges_is_not_asked_for_them(tmp_path: Path) -> None:
    _read(tmp_path, told_wrongly=[{"edge": ROWS, "reason": "why"}])
    truth = Truth.read(tmp_path / "truth.json")
    assert _edges(truth.as_told_by(Listener(indirect=False, masks=False)).processes) == {_edge(PLAIN)}
    assert truth.as_told_by(Listener(indirect=True, masks=True)) == truth
