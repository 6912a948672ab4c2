"""What code may pass on, in the tables of a lake and the commands that read them."""

import json
import os
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from tests.support.building import body, dataset, packed
from tests.support.cli import Parts
from tests.support.command_process import ProcessOfCommands
from tests.support.plans import PlanBuilder, call, column, facet

MAIL, ID = column(1, "mail"), column(2, "id")


_RDD = {"jobType": {"integration": "SPARK", "jobType": "RDD_JOB", "processingType": "BATCH"}}


def _run(name: str, start: str, end: str, minute: int, *, code: bool) -> bytes:
    """A run of the application `app` that writes columns mail and id of a folder to another, by code or as they are."""
    plans = PlanBuilder()
    table = plans.table(f"file:{start}", MAIL, ID)
    map_node = (
        plans.add("MapInPandas", functionExpr=call("PythonUDF", MAIL), output=[column(9, "mail")], child=table)
        if code
        else table
    )
    plan = to_builtins(facet(plans.writing(map_node, f"file:{end}")))
    fields = [{"name": field_name, "type": "string"} for field_name in (["mail"] if code else ["mail", "id"])]
    written_dataset = dataset(end, schema={"fields": fields})
    options: dict[str, Any] = {"run": name, "minute": minute, "job": f"adaptive_spark_plan.{end.strip('/')}"}
    return packed(body(inputs=[start], outputs=[written_dataset], run_facets={"throughline_plan": plan}, **options))


def outputs(folder: Path) -> dict[str, str]:
    """Of a lake whose /code is written by code, whose /both is by code and without it, and whose /copy is a copy."""
    os.chdir(folder)
    parts = Parts()
    (folder / "events").mkdir()
    events = (
        _run("code", "/raw", "/code", 0, code=True),
        _run("both one", "/raw", "/both", 1, code=True),
        _run("both two", "/raw", "/both", 2, code=False),
        _run("copy", "/code", "/copy", 3, code=False),
        packed(body(run="rdd", minute=4, job="map_partitions", inputs=["/raw"], outputs=["/rdd"], job_facets=_RDD)),
    )
    (folder / "events" / "a.jsonl").write_bytes(b"\n".join(events))
    (folder / "tags.csv").write_text("qualified_name,column,tag\nfile:///raw,mail,secret\n")
    (folder / "policies.toml").write_text(
        '[[tag]]\nclassification = "PII"\ndatasets = "raw"\ncolumns = "mail"\n'
        '[[policy]]\nname = "p"\ndatasets = "copy"\nno_tag = "PII"\n'
    )
    lake = ("--lake", str(folder / "lake"))
    lake_result = parts.run("lake", "run", "events", *lake, "--tags", "tags.csv", "--engine", "sail")
    assert lake_result.exit_code == 0, lake_result.output
    return {
        "assets": parts.run("lake", "coverage", "--level", "asset", "--json", *lake).output,
        "jobs": parts.run("lake", "coverage", "--level", "job", "--json", *lake).output,
        "impact": parts.run("lake", "impact", "raw", "mail", *lake, "--json").output,
        "table": parts.run("lake", "impact", "raw", "mail", *lake).output,
        "check": parts.run("check", "policies.toml", *lake).output,
    }


def test_a_lake_tells_upper_bounds_from_exact_lineage(sail_process: ProcessOfCommands, tmp_path: Path) -> None:
    printed_outputs = sail_process.call(outputs, tmp_path)
    assets = {asset["name"].rpartition("/")[2]: asset for asset in json.loads(printed_outputs["assets"])}
    counts = {name: (asset["columns"], asset["traced"], asset["opaque"]) for name, asset in assets.items()}
    assert counts == {"raw": (0, 0, 0), "code": (1, 0, 1), "both": (2, 2, 0), "copy": (2, 2, 0), "rdd": (0, 0, 0)}
    (job,) = json.loads(printed_outputs["jobs"])
    assert (job["runs"], job["exact"], job["opaque_runs"], job["rdd_runs"], job["by_listener"]) == (5, 2, 2, 1, 0)
    impact = {(entry["asset"], entry["column"]): entry for entry in json.loads(printed_outputs["impact"])}
    assert {ends: (entry["opaque"], entry["tags"]) for ends, entry in impact.items()} == {
        ("file:///both", "mail"): (False, ["secret"]),
        ("file:///code", "mail"): (True, []),
        ("file:///copy", "mail"): (True, []),
    }
    assert "maybe" in printed_outputs["table"]
    assert "NOT KNOWN  p: no_tag PII" in printed_outputs["check"]
    assert "raw.mail → code.mail by app → code (opaque)" in " ".join(printed_outputs["check"].split())
