"""Messages: what is downstream of a change, and the JSON that a webhook gets."""

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import jsonschema  # type: ignore[import-untyped] # ships no types
import pytest

from shared.lineage.dataset_facts import with_facts
from shared.lineage.document import NOT_SET, FailedTest
from shared.watching import messages as message_module
from shared.watching.comparing.changes import Severity, Topic
from shared.watching.comparing.snapshot import BrokenGate, Overdue, Snapshot
from shared.watching.messages import Message, encoded, messages
from shared.watching.rules import Channel, ChannelKind, RoutingRule, WatchRules
from tests.support.states import asset, name_of, random_state, state

NOW = datetime(2026, 11, 23, 6, tzinfo=UTC)
JOBS = {
    "load": ["people.mail > customers.mail mask", "people.id > customers.id"],
    "train": ["customers.mail > features.contact", "customers.id > features.id"],
    "report": ["features.contact > report.contact"],
}
SCHEMAS = {"people": "id:int mail:string", "customers": "id:int mail:string", "features": "id:int contact:string"}
BEFORE = state(JOBS, SCHEMAS)
DOCS = Path("docs/operate/watch.md")


def between(snapshot_before: Snapshot, snapshot_after: Snapshot) -> tuple[Message, ...]:
    return messages(snapshot_before, snapshot_after, comparison="x", now=NOW)


def channels(message: Message, rule: RoutingRule) -> tuple[str, ...]:
    return WatchRules(channels=(Channel(name="ml", kind=ChannelKind.FILE),), rules=(rule,)).channels_for(message)


def datasets(message: Message) -> list[str]:
    return [dataset.name for dataset in message.hit.datasets]


def test_a_lost_mask_hits_the_table_of_the_exposed_column_and_what_reads_it() -> None:
    """The rule that names the table for `downstream` gets the message that it was written for."""
    links = [*JOBS["train"], "people.mail > features.contact"]
    (message,) = (
        message for message in between(BEFORE, state({**JOBS, "train": links}, SCHEMAS)) if message.topic == "mask"
    )
    assert message.subject.name == "people"
    assert datasets(message) == ["features", "report"]
    assert [column.column for column in message.hit.columns] == ["contact", "contact"]
    assert (message.hit.dataset_count, message.hit.column_count) == (2, 2)
    assert [process.name for process in message.hit.processes] == ["train", "report"]
    assert channels(message, RoutingRule(downstream=("features",), to=("ml",))) == ("ml",)
    assert channels(message, RoutingRule(downstream=("people", "customers"), to=("ml",))) == ()


def test_a_broken_gate_hits_the_data_sets_of_its_policy() -> None:
    gate = BrokenGate(
        policy="p", rule="no_tag PII", sentence="s", datasets=((asset("features").type, name_of("features")),)
    )
    (message,) = between(BEFORE, state(JOBS, SCHEMAS, broken=(gate,)))
    assert datasets(message) == ["features", "report"]


def test_an_overdue_job_hits_what_it_writes() -> None:
    late = Overdue(process="throughline:v1://train", last_start=NOW, due=NOW + timedelta(hours=2))
    (message,) = between(BEFORE, state(JOBS, SCHEMAS, overdue=(late,)))
    assert sorted(datasets(message)) == ["features", "report"]


def test_a_changed_data_set_is_the_subject_and_no_hit() -> None:
    state_after = state({**JOBS, "more": ["other.x > customers.id"]}, {**SCHEMAS, "other": "x:int"})
    (message,) = between(BEFORE, state_after)
    assert (message.topic, message.subject.name, datasets(message)) == (
        Topic.LINEAGE,
        "customers",
        ["features", "report"],
    )


# --- the JSON of a webhook


@pytest.fixture(scope="module")
def schema() -> jsonschema.Draft202012Validator:
    text = Path(message_module.__file__).with_name("message.schema.json").read_text(encoding="utf-8")
    assert text == message_module.schema_text(), "python -m shared.watching.messages FILE"
    return jsonschema.Draft202012Validator(json.loads(text))


def test_messages_of_every_topic_have_the_form_of_the_shipped_schema(schema: jsonschema.Draft202012Validator) -> None:
    """Random states, with late jobs, broken gates and failed tests."""
    topics, severities = set[Topic](), set[Severity]()
    for seed in range(200):
        chance = random.Random(seed)
        snapshot_before, snapshot_after = (
            random_state(chance),
            random_state(chance, chance.choice(("a:int b:int", "a:bigint"))),
        )
        late = Overdue(process="throughline:v1://j0", last_start=NOW, due=NOW)
        gate = BrokenGate(policy="p", rule="traced 95 %", sentence="s")
        failure = (name_of("t1"), FailedTest(NOT_SET, "a", "unique", NOW))
        snapshot_after = Snapshot(
            document=with_facts(snapshot_after.document, failed_tests=[failure]),
            overdue=(late,) if seed % 2 else (),
            broken=(gate,),
        )
        for message in between(snapshot_before, snapshot_after):
            topics.add(message.topic)
            severities.add(message.severity)
            schema.validate(json.loads(encoded(message)))
    assert (topics, severities) == (set(Topic), set(Severity))


def test_the_schema_refuses_what_is_no_message(schema: jsonschema.Draft202012Validator) -> None:
    (message, *_) = between(BEFORE, state(JOBS, {**SCHEMAS, "people": "id:int"}))
    message_document = json.loads(encoded(message))
    assert schema.is_valid(message_document)
    for field in message_document.keys() - {"format", "owners"}:
        assert not schema.is_valid({name: value for name, value in message_document.items() if name != field}), field
    assert not schema.is_valid({**message_document, "topic": "weather"})


def test_the_page_describes_every_field_of_a_message() -> None:
    described = DOCS.read_text(encoding="utf-8")
    for form in json.loads(message_module.schema_text())["$defs"].values():
        for field in form.get("properties", ()):
            assert f"`{field}`" in described, field
