"""`doctor --listener` leaves nothing behind: in the catalog, in lists, in the document of lineage, in the lake."""

import json
from datetime import UTC, datetime
from pathlib import Path

from shared.canary.hops import COMPLETE, Canary, Hop, canary_run
from shared.canary.sender import Sender
from shared.openlineage.selection import CHECK
from shared.query.recorded_document import document_of_record
from shared.reporting.status import status
from shared.translation.process.identity import is_check
from tests.support.building import body, packed
from tests.support.cli import Parts
from tests.support.command_process import ProcessOfCommands
from tests.support.installation import installation
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish


def followed(parts: Parts, *, refused: str = "") -> list[Hop]:
    with installation(parts.worker, refused=refused) as url:
        send = Sender(url=url).send
        canary = Canary(context=parts.worker, names=parts.worker.names, send=send, owner="doctor", patience=5)
        return list(canary.hops(canary.run()))


def test_a_trial_run_reaches_the_catalog_and_leaves_it() -> None:
    parts = Parts()
    for _ in range(2):
        hops = followed(parts)
        assert [hop.name for hop in hops] == ["START", "COMPLETE", "blob", "fold", "catalog", "withdrawal"]
        assert [hop for hop in hops if hop.problem] == []
        assert "and its data sets" in hops[-1].outcome
        assert (parts.catalog.processes, parts.catalog.assets) == ({}, {})
    counts = status(parts.storage)
    assert (counts.received, counts.skipped, counts.skipped_because) == (6, 6, {CHECK: 6})
    assert counts.reconciles


def test_a_trial_run_is_in_no_list_even_while_its_process_stays() -> None:
    parts = Parts()
    for place in post(parts.storage, packed(body(inputs=["/a"], outputs=["/b"]))):
        deliver_event(parts.storage, place)
    hops = followed(parts, refused="FAIL")
    assert [hop.problem for hop in hops if hop.problem] == ["trial-left"]
    publish(parts.storage, parts.catalog, parts.worker.publishing)
    assert sum(map(is_check, parts.catalog.processes)) == 1
    assert {dataset.name for dataset in document_of_record(parts.storage, parts.worker.publishing).datasets} == {
        "a",
        "b",
    }
    assert [process["name"] for process in json.loads(parts.run("details", "--json").stdout)["processes"]] == [
        "app → b"
    ]
    assert "throughlinecheck" not in parts.run("search", "t", "--json").output
    listed = json.loads(parts.run("events", "--json").stdout)["events"]
    assert [entry["job"] for entry in listed] == ["app.adaptive_spark_plan.out"]
    own_events = json.loads(parts.run("events", "--job", "throughline_check*", "--json").stdout)
    assert own_events["count"] == 2
    assert parts.run("run", own_events["events"][0]["run_id"]).exit_code == 0


def test_a_trial_run_is_not_in_the_lake(sail_process: ProcessOfCommands, tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    trial = canary_run(datetime(2026, 11, 21, tzinfo=UTC), "doctor")
    lines = (trial.bodies[COMPLETE], packed(body(inputs=["/a"], outputs=["/b"])))
    (tmp_path / "events" / "a.jsonl").write_bytes(b"\n".join(lines))
    lake = ("--lake", tmp_path / "lake")
    outcome = sail_process.run("lake", "run", tmp_path / "events", *lake, "--engine", "sail")
    assert outcome.returncode == 0, outcome.stderr
    command_result = sail_process.run("lake", "coverage", "--level", "asset", "--json", *lake)
    assert sorted(entry["name"] for entry in json.loads(command_result.stdout)) == ["file:///a", "file:///b"]
