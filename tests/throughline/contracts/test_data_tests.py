"""`throughline contract check --data`: the program `datacontract` is called, and its results are judged with the rest.

A script plays the program: it writes the results in the form that datacontract-cli 1.2.8 wrote for such a contract.
"""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.building import IDENTITY, body, dataset, lineage, packed, source
from tests.support.cli import Parts
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish

CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: orders
name: orders
version: 1.0.0
status: active
servers: [{server: here, type: local, path: /lake/gold}]
schema:
  - name: gold
    properties:
      - {name: id, required: true, unique: true}
      - {name: amount, quality: [{metric: nullValues, mustBe: 0}]}
"""
PROGRAM = """\
#!{python}
import json, pathlib, sys
arguments = sys.argv[1:]
assert arguments[:1] + arguments[2:4] == ["test", "--server", "here"], arguments
sys.stderr.write("Error: no access, token=5ecret\\n")
results = {results}
if results is not None:
    pathlib.Path(arguments[arguments.index("--output") + 1]).write_text(json.dumps(results))
sys.exit(1)
"""


def check(kind: str, result: str | None, *, model: str | None = "gold", field: str | None = "id", **fields: Any) -> Any:
    return {"name": f"Check {kind}", "type": kind, "model": model, "field": field, "result": result, **fields}


@pytest.fixture
def parts() -> Parts:
    loaded_parts = Parts()
    columns = lineage({name: [source("/raw", name, IDENTITY)] for name in ("id", "amount")})
    schema = {"fields": [{"name": "id", "type": "long"}, {"name": "amount", "type": "double"}]}
    made_of = body(inputs=["/raw"], outputs=[dataset("/lake/gold", schema=schema, columnLineage=columns)])
    mart = lineage({"total": [source("/lake/gold", "amount", IDENTITY)]})
    reading_event = body(
        run="mart",
        application="mart",
        app_name="mart",
        inputs=["/lake/gold"],
        outputs=[dataset("/mart", columnLineage=mart)],
    )
    for place in post(loaded_parts.storage, packed(made_of), packed(reading_event)):
        deliver_event(loaded_parts.storage, place)
    publish(loaded_parts.storage, loaded_parts.catalog, loaded_parts.worker.publishing)
    return loaded_parts


def checked(parts: Parts, folder: Path, patch: pytest.MonkeyPatch, results: object, code: int) -> str:
    """The output of the command with a program that writes these results; without a program for `...`."""
    (folder / "orders.yaml").write_text(CONTRACT)
    patch.setenv("PATH", str(folder))
    if results is not ...:
        program = folder / "datacontract"
        program.write_text(PROGRAM.format(python=sys.executable, results=results))
        program.chmod(0o755)
    result = parts.run("contract", "check", str(folder / "orders.yaml"), "--data", "here")
    assert result.exit_code == code, result.output
    return result.output


def test_results_are_judged_with_the_rest(parts: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = {
        "checks": [
            check("field_is_present", "passed"),
            check("field_required", "failed", field="amount", reason="missing_count(amount) was 1, expected = 0"),
        ]
    }
    output = checked(parts, tmp_path, monkeypatch, results, 3)
    assert "HOLDS  orders: gold: data id field_is_present" in output
    reason = "missing_count(amount) was 1, expected = 0: mart.total depends on it"
    assert f"BROKEN  orders: gold: data amount field_required\n  Check field_required: {reason}\n" in output
    assert "quality" not in output, "the data were tested, so no test on record is needed"


def test_what_was_not_run_is_not_known(parts: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = {
        "checks": [check("field_unique", None), check("lint", "failed", model=None, field=None, reason="No file")]
    }
    output = checked(parts, tmp_path, monkeypatch, results, 4)
    assert "NOT KNOWN  orders: gold: data id field_unique\n  Check field_unique: it was not run" in output
    assert "NOT KNOWN  orders: data\n  Check lint: No file" in output


def test_all_that_passed(parts: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = checked(parts, tmp_path, monkeypatch, {"checks": [check("field_unique", "passed")]}, 0)
    assert output.endswith("2 held\n")


def test_a_program_without_results_or_none_at_all_is_an_error(
    parts: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "pipx install 'datacontract-cli[all]'" in checked(parts, tmp_path, monkeypatch, ..., 2)
    output = " ".join(checked(parts, tmp_path, monkeypatch, None, 2).split())
    assert "datacontract ended with 1 and wrote no results. Error: no access, token=***" in output
    assert "5ecret" not in output
