"""`throughline watch`: over the record and by rules; its output, and one announcement for each change."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shared.bootstrap import watching
from shared.errors import Misconfigured
from shared.settings.values import WatchSettings
from shared.watching.rules import Channel, ChannelKind, WatchRules
from tests.support.building import IDENTITY, body, dataset, packed, source, step
from tests.support.building import lineage as columns_of
from tests.support.cli import Parts
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish
from tests.support.webhook_server import webhook_server

MASKED = step("DIRECT", "TRANSFORMATION", masking=True)


def write(parts: Parts, run: str, minute: float, transformation: dict[str, Any], *columns: str) -> None:
    """A run of one job that writes `clean` from `raw`."""
    schema = {"fields": [{"name": name, "type": "string"} for name in columns]}
    edges = columns_of({name: [source("raw", name, transformation)] for name in columns})
    written_dataset = dataset("clean", schema=schema, columnLineage=edges)
    raw_dataset = dataset("raw", schema=schema)
    event = body(run=run, application=run, minute=minute, inputs=[raw_dataset], outputs=[written_dataset])
    for place in post(parts.storage, packed(event)):
        deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, parts.worker.publishing)


@pytest.fixture
def parts() -> Parts:
    """A record with one job, which masks."""
    loaded_parts = Parts()
    write(loaded_parts, "one", 0, MASKED, "mail", "id")
    return loaded_parts


def rules(folder: Path, text: str = "") -> str:
    file = folder / "watch.toml"
    log = (folder / "messages.jsonl").as_posix()
    file.write_text(text or f'[channels.log]\nkind = "file"\npath = "{log}"\n[[rules]]\nto = ["log"]\n')
    return str(file)


def test_a_change_is_announced_once(parts: Parts, tmp_path: Path) -> None:
    file = rules(tmp_path)
    before = parts.run("watch", "--plan")
    assert "first snapshot: none of the record is stored" in " ".join(before.stderr.split())
    first = parts.run("watch", "--once", "--rules", file)
    assert (first.exit_code, first.stdout.strip()) == (0, "0 messages decided, 0 sent")
    assert "the next comparison announces what changes from now on" in " ".join(first.stderr.split())
    assert "first snapshot" not in parts.run("watch", "--once", "--rules", file).stderr
    write(parts, "two", 9, IDENTITY, "email", "id")
    plan = parts.run("watch", "--plan")
    assert (plan.exit_code, plan.stderr) == (0, "")
    assert "3 messages would be decided" in plan.output
    assert "Mask lost: raw" in plan.output
    result = parts.run("watch", "--once", "--rules", file, "--json")
    other_counts = {"refused": 0, "failed": 0, "quiet": 0, "other_version": 0}
    assert json.loads(result.output) == {"looked": True, "decided": 3, "sent": 3, **other_counts}
    lines = [json.loads(line) for line in (tmp_path / "messages.jsonl").read_text().splitlines()]
    assert sorted((line["topic"], line["subject"]["name"]) for line in lines) == [
        ("mask", "raw"),
        ("schema", "clean"),
        ("schema", "raw"),
    ]
    (schema,) = (line for line in lines if (line["topic"], line["subject"]["name"]) == ("schema", "raw"))
    assert [change["text"] for change in schema["changes"]] == ["column mail was renamed to email"]
    assert schema["severity"] == "breaking"
    assert [column["column"] for column in schema["hit"]["columns"]] == ["mail"], "as it was called when it was hit"
    assert [entry["name"] for entry in schema["hit"]["datasets"]] == ["clean"]
    assert schema["hit"]["process_count"] == 1
    for _ in range(3):
        assert "0 messages decided, 0 sent" in parts.run("watch", "--once", "--rules", file).output
    assert "0 messages would be decided" in parts.run("watch", "--plan").output


def test_a_plan_prints_its_messages_as_json(parts: Parts, tmp_path: Path) -> None:
    parts.run("watch", "--once", "--rules", rules(tmp_path))
    write(parts, "two", 9, IDENTITY, "mail", "id")
    (message, *_) = json.loads(parts.run("watch", "--plan", "--json").output)["messages"]
    assert message["subject"]["name"] == "raw"
    assert message["severity"] == "breaking"


def test_a_failing_channel_ends_with_1(parts: Parts, tmp_path: Path) -> None:
    text = '[channels.team]\nkind = "slack"\n[[rules]]\nto = ["team"]\n'
    with webhook_server() as server:
        settings = WatchSettings(webhooks=(("team", server.url("slack")),))
        parts.worker = replace(parts.worker, watch_settings=settings)
        file = rules(tmp_path, text)
        assert parts.run("watch", "--once", "--rules", file).exit_code == 0
    write(parts, "two", 9, IDENTITY, "mail", "id")
    failed = parts.run("watch", "--once", "--rules", file)
    assert failed.exit_code == 1
    assert "1 channel failed and will be tried again" in failed.output


def test_all_mistakes_in_rules_are_reported_at_once(parts: Parts, tmp_path: Path) -> None:
    text = '[channels.log]\nkind = "fil"\npath = "x"\n\n[[rules]]\ntopics = ["shema"]\nto = ["lo"]\n'
    result = parts.run("watch", "--once", "--rules", rules(tmp_path, text))
    assert result.exit_code == 2
    output = " ".join(result.output.split())
    assert "Did you mean file?" in output
    assert "watch.toml:6: topics must be a list of" in output
    assert "there is no channel lo. Did you mean log?" in output


def test_without_rules_the_command_names_the_setting_and_option(parts: Parts, tmp_path: Path) -> None:
    result = parts.run("watch", "--once")
    assert result.exit_code == 2
    assert "THROUGHLINE_WATCH" in result.output
    missing = parts.run("watch", "--once", "--rules", str(tmp_path / "none.toml"))
    assert missing.exit_code == 2
    assert "can't be read" in missing.output


def test_a_webhook_without_an_address_is_refused() -> None:
    channels = (Channel(name="team", kind=ChannelKind.TEAMS),)
    with pytest.raises(Misconfigured, match="THROUGHLINE_WATCH_WEBHOOKS to team="):
        watching(WatchRules(channels=channels), WatchSettings())


def test_messages_for_telemetry_are_not_sent_by_the_command(parts: Parts, tmp_path: Path) -> None:
    file = rules(tmp_path, '[channels.mail]\nkind = "telemetry"\n[[rules]]\nto = ["mail"]\n')
    parts.run("watch", "--once", "--rules", file)
    write(parts, "two", 9, IDENTITY, "mail", "id")
    result = parts.run("watch", "--once", "--rules", file)
    assert "left to the sweeper" in " ".join(result.output.split())
    assert "1 message decided, 0 sent" in result.output


def test_a_broken_policy_is_announced_once(parts: Parts, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[[policy]]\nname = "ids are not copied"\ndatasets = "clean"\nsources_only = "raw"\n')
    arguments = ("watch", "--once", "--rules", rules(tmp_path), "--policy", str(policy))
    assert parts.run(*arguments).exit_code == 0
    assert "0 messages decided" in parts.run(*arguments).output
    policy.write_text(policy.read_text().replace('"raw"', '"vault"'))
    broken = parts.run(*arguments)
    assert "1 message decided, 1 sent" in broken.output, broken.output
    (message,) = [json.loads(line) for line in (tmp_path / "messages.jsonl").read_text().splitlines()]
    assert message["topic"] == "gate"
    assert "sources_only vault" in json.dumps(message)
    assert "0 messages decided" in parts.run(*arguments).output
    policy.write_text("[[policy]]\nnam = 1\n")
    wrong = parts.run(*arguments)
    assert (wrong.exit_code, "policy.toml:2" in wrong.output) == (2, True)


def test_rules_without_an_effect_are_reported(parts: Parts, tmp_path: Path) -> None:
    log = (tmp_path / "messages.jsonl").as_posix()
    policy = tmp_path / "policy.toml"
    policy.write_text('[[policy]]\nname = "only raw"\ndatasets = "clean"\nsources_only = ["raw"]\n')
    text = f"""
[channels.log]
kind = "file"
path = "{log}"

[[rules]]
subjects = ["*/clean", "*nothing*"]
downstream = ["claen"]
to = ["log"]

[[rules]]
owners = ["team:crm"]
to = ["log"]

[[rules]]
subjects = ["only raw"]
to = ["log"]

[[rules]]
to = ["log"]

[[rules]]
topics = ["mask"]
to = []
"""
    file = rules(tmp_path, text)
    for option in ("--once", "--plan"):
        result = parts.run("watch", option, "--rules", file, "--policy", str(policy))
        assert result.exit_code == 0, result.output
        noted = [line for line in result.stderr.splitlines() if line.startswith("rules, line")]
        assert noted == [
            "rules, line 6: downstream claen match nothing in the lineage. Did you mean clean?",
            "rules, line 11: owners team:crm match nothing in the lineage",
            "rules, line 22: the rule in line 19 matches every message, so none comes to this one",
        ]
    plain_result = parts.run("watch", "--once", "--rules", file)
    assert "rules, line 15: subjects only raw match nothing in the lineage" in plain_result.stderr
