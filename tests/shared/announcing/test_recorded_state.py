"""The snapshot of lineage on record: unchanged by further runs; overdue jobs, gates; and the sweeper's round."""

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from msgspec import structs

from shared.announcing.recorded_state import gates_of, recorded_snapshot
from shared.announcing.rounds import WatchOptions, watch_due
from shared.atlas.columns import column_name
from shared.classifying.planning import reading_of
from shared.errors import CatalogUnavailable, StorageUnavailable
from shared.governance.propagation import CatalogReading
from shared.governance.rules import Rules as GovernanceRules
from shared.governance.rules_file import parse_policies
from shared.lineage.document import LineageDocument
from shared.publishing.context import PublishOptions
from shared.reading.processes import recorded_processes
from shared.records.assets import AssetRows, all_assets
from shared.storage.memory import MemoryStorage
from shared.watching.comparing.changes import Topic
from shared.watching.comparing.comparison import changes
from shared.watching.comparing.snapshot import BrokenGate, packed
from shared.watching.messages import messages
from shared.watching.rules import Channel, ChannelKind, RoutingRule, WatchRules
from tests.faults.scheduler import Scheduler
from tests.faults.watching import FaultyChannel
from tests.support.building import IDENTITY, body, dataset, source
from tests.support.building import lineage as columns_of
from tests.support.building import packed as packed_event
from tests.support.memory_catalog import MemoryCatalog, MemoryClassifications
from tests.support.outbox import messages_on_record
from tests.support.processing import Watched, deliver_event, post
from tests.support.publishing import Clock, publish, publish_options

HOUR = 60.0


def schema(*columns: str) -> dict[str, object]:
    return {"fields": [{"name": name, "type": "string"} for name in columns]}


def run(
    storage: MemoryStorage,
    name: str,
    minute: float,
    *columns: str,
    target: str = "clean",
    read_columns: Sequence[str] = (),
    catalog: MemoryCatalog | None = None,
) -> None:
    """A run of a job that writes a table from `raw`; `read_columns`: the columns of `raw` that it reports."""
    edges = columns_of({column: [source("raw", column, IDENTITY)] for column in columns})
    written_dataset = dataset(target, schema=schema(*columns), columnLineage=edges)
    seen_dataset = dataset("raw", schema=schema(*(read_columns or columns)))
    event = body(run=name, application=name, minute=minute, inputs=[seen_dataset], outputs=[written_dataset])
    for place in post(storage, packed_event(event)):
        deliver_event(storage, place)
    publish(storage, catalog or MemoryCatalog(), publish_options(Clock()))


def at(minute: float) -> PublishOptions:
    """Options whose clock shows this minute of the first run's day."""
    storage = MemoryStorage()
    run(storage, "zero", 0, "a")
    start = next(iter(recorded_processes(storage, publish_options(Clock())))).starts[0]
    clock = Clock()
    clock.at = start + timedelta(minutes=minute)
    return publish_options(clock)


def test_another_run_of_the_same_lineage_does_not_change_the_snapshot() -> None:
    storage = MemoryStorage()
    run(storage, "one", 0, "a", "b")
    snapshot_before = packed(recorded_snapshot(storage, at(1)))
    run(storage, "two", 30, "a", "b")
    assert packed(recorded_snapshot(storage, at(31))) == snapshot_before


def test_the_owner_that_events_declare_is_in_the_state_and_decides_where_a_message_goes() -> None:
    storage = MemoryStorage()
    owned = {"owners": [{"name": "team:crm"}, {"name": "ann"}]}
    for minute, columns in ((0.0, ("a", "b")), (30.0, ("a",))):
        edges = columns_of({column: [source("raw", column, IDENTITY)] for column in columns})
        output_dataset = dataset("clean", schema=schema(*columns), columnLineage=edges, ownership=owned)
        input_dataset = dataset("raw", schema=schema("a", "b"))
        event = body(
            run=f"r{minute}", application=f"r{minute}", minute=minute, inputs=[input_dataset], outputs=[output_dataset]
        )
        for place in post(storage, packed_event(event)):
            deliver_event(storage, place)
        publish(storage, MemoryCatalog(), publish_options(Clock()))
        if not minute:
            snapshot_before = recorded_snapshot(storage, at(1))
    change_messages = messages(snapshot_before, recorded_snapshot(storage, at(31)), comparison="x", now=Clock().at)
    (dropped,) = (message for message in change_messages if message.topic is Topic.SCHEMA)
    assert (dropped.subject.owner, dropped.owners) == ("ann, team:crm", ("ann", "team:crm"))
    rules = WatchRules(
        channels=(Channel(name="crm", kind=ChannelKind.FILE),),
        rules=(RoutingRule(owners=("team:crm",), to=("crm",)),),
    )
    assert rules.channels_for(dropped) == ("crm",)


def test_readers_that_report_different_columns_by_turns_cause_no_change() -> None:
    storage = MemoryStorage()
    run(storage, "one", 0, "a", read_columns=("a", "b"))
    run(storage, "other", 5, "a", target="second", read_columns=("a",))
    recorded_snapshot_before = recorded_snapshot(storage, at(6))
    for minute in (10, 20):
        run(storage, f"one{minute}", minute, "a", read_columns=("a", "b"))
        assert changes(recorded_snapshot_before, recorded_snapshot(storage, at(minute))) == ()
        run(storage, f"other{minute}", minute + 5, "a", target="second", read_columns=("a",))
        assert changes(recorded_snapshot_before, recorded_snapshot(storage, at(minute + 6))) == ()


def test_a_scanned_asset_that_several_data_sets_of_a_job_are_has_the_columns_of_all() -> None:
    storage = MemoryStorage()
    edges = columns_of({"a": [source("raw/1", "a", IDENTITY)]})
    inputs = [dataset("raw/1", schema=schema("a", "b")), dataset("raw/2", schema=schema("a", "c"))]
    for place in post(storage, packed_event(body(inputs=inputs, outputs=[dataset("clean", columnLineage=edges)]))):
        deliver_event(storage, place)
    publish(storage, MemoryCatalog(), publish_options(Clock()))
    rows = AssetRows()
    keys = [record.own for record in all_assets(storage) if "raw" in record.own[1]]
    for record in rows.read(storage, keys).values():
        rows.put(structs.replace(record, scanned=("fs_path", "file:///raw")))
    rows.flush(storage)
    document = recorded_snapshot(storage, at(1)).document
    (number,) = (number for number, item in enumerate(document.datasets) if item.qualified_name == "file:///raw")
    assert {column.name for column in document.columns if column.dataset == number} == {"a", "b", "c"}


def test_a_job_that_stops_is_overdue_by_its_own_rhythm_and_announced_once() -> None:
    storage = MemoryStorage()
    for number in range(6):
        run(storage, f"run{number}", number * HOUR, "a")
    last = 5 * HOUR
    regular = recorded_snapshot(storage, at(last + 85))
    assert regular.overdue == ()
    late = recorded_snapshot(storage, at(last + 95))
    assert [str(change.kind) for change in changes(regular, late)] == ["job_overdue"]
    assert changes(late, recorded_snapshot(storage, at(last + 500))) == ()
    run(storage, "again", last + 501, "a")
    back = recorded_snapshot(storage, at(last + 510))
    assert back.overdue == ()
    assert changes(late, back) == ()


def test_gates_judge_the_document() -> None:
    storage = MemoryStorage()
    run(storage, "one", 0, "a")

    def gates(document: LineageDocument) -> Sequence[BrokenGate]:
        return [BrokenGate(policy="p", rule="r", sentence=f"{len(document.datasets)} data sets")]

    snapshot_before, snapshot_after = recorded_snapshot(storage, at(1)), recorded_snapshot(storage, at(1), gates)
    (change,) = changes(snapshot_before, snapshot_after)
    assert (change.policy, change.after) == ("p", "2 data sets")


# --- the sweeper's round


def options(channel: FaultyChannel, clock: Clock) -> WatchOptions:
    rules = WatchRules(channels=(Channel(name="c", kind=ChannelKind.FILE),), rules=(RoutingRule(to=("c",)),))
    return WatchOptions(rules=rules, senders={"c": channel}, now=clock)


def test_the_sweeper_runs_the_watch_when_due_and_reports_its_work() -> None:
    storage, clock = MemoryStorage(), Clock()
    channel = FaultyChannel(scheduler=Scheduler(), chance=random.Random(0))
    watching = options(channel, clock)
    assert watch_due(storage, None, publish_options(clock)) == {}
    run(storage, "one", 0, "a", "b")
    assert watch_due(storage, watching, publish_options(clock))["watch_looked"] is True
    run(storage, "two", 30, "a")
    clock.at += timedelta(minutes=1)
    assert watch_due(storage, watching, publish_options(clock))["watch_looked"] is False
    clock.at += timedelta(minutes=15)
    facts = watch_due(storage, watching, publish_options(clock))
    assert (facts["watch_looked"], facts["watch_decided"], facts["watch_sent"]) == (True, 2, 2)
    assert {message.message.subject.name for message in messages_on_record(storage)} == {"raw", "clean"}


def test_unavailable_storage_does_not_fail_the_sweep() -> None:
    watched_storage = Watched(MemoryStorage())

    def step_in(name: str, _arguments: tuple[object, ...]) -> None:
        if name == "read":
            raise StorageUnavailable("away")

    watched_storage.step_in = step_in
    channel = FaultyChannel(scheduler=Scheduler(), chance=random.Random(0))
    assert watch_due(watched_storage, options(channel, Clock()), publish_options(Clock())) == {}


POLICY_ON_CATALOG = """
[[tag]]
classification = "PII"
datasets = "raw"
classified_as = "MICROSOFT.*"
[[policy]]
name = "clean is clean"
datasets = "clean"
no_tag = "PII"
"""


def test_a_gate_reads_the_catalog_and_waits_while_it_is_unavailable() -> None:
    """An unavailable catalog changes the state of no gate; the rest of the round runs."""
    storage, clock = MemoryStorage(), Clock()
    catalog = MemoryCatalog()
    marks = MemoryClassifications(catalog)
    is_unavailable = False

    def read(document: LineageDocument, rules: GovernanceRules) -> CatalogReading:
        if is_unavailable:
            raise CatalogUnavailable("The catalog answered 503")
        return reading_of(document, rules, marks, storage)

    channel = FaultyChannel(scheduler=Scheduler(), chance=random.Random(0))
    gates = gates_of(parse_policies(POLICY_ON_CATALOG, "policy.toml"), read)
    watching = replace(options(channel, clock), gates=gates)
    run(storage, "one", 0, "a", catalog=catalog)

    def facts(minutes: int = 20) -> dict[str, object]:
        clock.at += timedelta(minutes=minutes)
        return dict(watch_due(storage, watching, publish_options(clock)))

    assert facts()["watch_looked"] is True
    (raw,) = [key for key in catalog.assets if key[1].endswith("raw")]
    column = ("column", column_name(*raw, "a"))
    marks.attach("MICROSOFT.EMAIL", [marks.classified([column])[column].guid])
    is_unavailable = True
    assert facts()["watch_looked"] is False
    is_unavailable = False
    assert facts(1)["watch_decided"] == 1, "the next round looks at once"
    (message,) = [message.message for message in messages_on_record(storage)]
    assert message.topic is Topic.GATE
    is_unavailable = True
    assert facts()["watch_looked"] is False
    is_unavailable = False
    assert facts()["watch_decided"] == 0, "the gate stayed broken meanwhile"
