"""Policies on a lake of an archive in which the events of an excluded job were ignored: not known, as on record."""

import base64
import json
from pathlib import Path

import pytest

from tests.support.building import IDENTITY, Json, body, dataset, lineage, packed, source
from tests.support.command_process import ProcessOfCommands

POLICY = """
[[tag]]
classification = "PII"
datasets = "/raw"
columns = "mail"
[[policy]]
name = "mart"
datasets = "/mart"
no_tag = "PII"
traced = 100
sources_only = "/clean"
[[policy]]
name = "clean"
datasets = "/clean"
no_tag = "PII"
"""


def job(app: str, read: str, target_name: str, minute: float) -> Json:
    columns = lineage({"mail": [source(read, "mail", IDENTITY)]})
    schema = {"fields": [{"name": "mail", "type": "string"}]}
    outputs = [dataset(target_name, schema=schema, columnLineage=columns)]
    return body(run=app, application=app, app_name=app, minute=minute, inputs=[read], outputs=outputs)


def archived(event: Json, ignored: str | None) -> str:
    """A line of the archive."""
    raw = packed(event)
    line = {"digest": base64.b16encode(raw)[-32:].decode().lower(), "run": event["run"]["runId"], "job": "j"}
    times = {"arrived": event["eventTime"], "closed": None}
    return json.dumps({**line, **times, "blob": "b", "ignored": ignored, "event": raw.decode()})


@pytest.mark.parametrize("reason", [None, "excluded by job", "names no data set and ends no run"])
def test_a_job_that_a_filter_ignores_leaves_what_it_writes_not_known(
    sail_process: ProcessOfCommands, tmp_path: Path, reason: str | None
) -> None:
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "events").mkdir()
    lines = [archived(job("load", "/raw", "/clean", 0), reason), archived(job("mart", "/clean", "/mart", 1), None)]
    (tmp_path / "events" / "a.jsonl").write_text("\n".join(lines))
    lake = ("--lake", tmp_path / "lake")
    outcome = sail_process.run("lake", "run", tmp_path / "events", *lake, "--engine", "sail")
    assert outcome.returncode == 0, outcome.stderr
    checked = sail_process.run("check", tmp_path / "policy.toml", *lake)
    expected = {None: 3, "excluded by job": 4}
    assert checked.returncode == expected.get(reason, 0), checked.stdout
    if reason == "excluded by job":
        assert checked.stdout.count("NOT KNOWN") == 3
        assert "a filter leaves out a source" in checked.stdout
        viewed = sail_process.run("view", "/mart", "--mermaid", "-", "--depth", "0", *lake)
        assert "excluded by a filter" in viewed.stdout
