"""A small consistent world, and a way to plant each kind of damage in it."""

import gzip
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import structs

from shared.atlas.entities import ProcessEntity, asset_entity
from shared.catalog.port import Catalog
from shared.maintenance.replay import publish_all
from shared.maintenance.verify.checks import VerifyContext
from shared.publishing.planning.options import PublishOptions
from shared.records.ledger import LedgerEntry
from shared.records.run_state import ContributionRecord, RunState, content_digest
from shared.records.states import LedgerState
from shared.storage.port import Row, Storage
from shared.storage_layout import EVENTS, LIFECYCLE, StoredEvent, process_key, stored_from_blob
from shared.translation.aggregate import SupersessionPolicy
from tests.support.building import asset, process
from tests.support.events import event, run_id, write
from tests.support.processing import post, settle
from tests.support.publishing import context_of

PUBLISHING = PublishOptions(
    now=lambda: datetime.now(UTC) + timedelta(days=1), patience=SupersessionPolicy(quiet=timedelta(days=100_000))
)
"""The day after: nothing is in progress."""

DAMAGED_START, DAMAGED_RUN_END = write("damaged", "app4", "14:00", "/x", sink="/y")


def consistent_world(storage: Storage, catalog: Catalog) -> VerifyContext:
    """Process and publish jobs of five application runs.

    Two write the same sink, one drops its staging data, one has so many columns that they fill a blob, and one has an
    unreadable START.
    """
    draw = random.Random(5)
    columns = {draw.randbytes(24).hex(): [("/w", draw.randbytes(24).hex())] for _ in range(1200)}
    wide: dict[str, Any] = {"inputs": ["/w"], "outputs": ["/wide"], "application": "wide", "columns": columns}
    bodies = [
        event("app1", "START", "09:00:00"),
        *write("a", "app1", "10:00", "/a"),
        event("app1", "COMPLETE", "10:30:00"),
        *write("b", "app2", "11:00", "/b"),
        *write("c", "app3", "12:00", "/c", sink="/staged"),
        *write("d", "app3", "12:10", "/staged", sink="/final"),
        event("e", "COMPLETE", "12:20:00", outputs=["/staged"], application="app3", states={"/staged": ("DROP", "")}),
        event("w", "COMPLETE", "13:01:00", **wide),
        DAMAGED_START,
    ]
    places = post(storage, *bodies)
    put_blob(storage, EVENTS, places[-1].blob, b"no gzip")
    for place in (*places[:-1], *post(storage, DAMAGED_RUN_END)):
        settle(storage, place)
    publish_all(context_of(storage, catalog, PUBLISHING))
    return VerifyContext(
        storage=storage, catalog=catalog, publishing=PUBLISHING, grace=timedelta(0), end_timeout=timedelta(0)
    )


def put_blob(storage: Storage, container: str, name: str, data: bytes) -> None:
    """Change a blob, which the port can't do."""
    storage.delete_blob(container, name)
    storage.put_new(container, name, data)


def lose_state(storage: Storage, run: str) -> Row:
    """Let the state of a run name a blob that is gone; the row before."""
    row = next(row for row in storage.partition("runs", run_id(run)) if row.key == "state")
    values = {name: value for name, value in row.values.items() if name != "lists"}
    storage.upsert("runs", replace(row, values={**values, "lists_blob": "nowhere.json.gz"}))
    return row


def _events(world: VerifyContext, run: str) -> list[StoredEvent]:
    found = (stored_from_blob(fact.name) for fact in world.storage.blobs(EVENTS))
    return [each for each in found if each.run_id == run_id(run)]


def _row(world: VerifyContext, table: str, fits: Callable[[Row], bool]) -> Row:
    return next(row for row in world.storage.scan(table) if fits(row))


def _drop(world: VerifyContext, table: str, fits: Callable[[Row], bool]) -> None:
    row = _row(world, table, fits)
    world.storage.delete(table, row.partition, row.key)


def _state(world: VerifyContext, run: str) -> RunState:
    return RunState.of(
        _row(world, "runs", lambda row: (row.partition, row.key) == (run_id(run), "state")), world.storage
    )


def _contribution(world: VerifyContext, application: str) -> ContributionRecord:
    row = _row(world, "contributions", lambda row: row.key.startswith(run_id(application)) and "~" not in row.key)
    return ContributionRecord.of(row, world.storage)


def _entry(world: VerifyContext, sink: str) -> LedgerEntry:
    return next(
        each for row in world.storage.scan("ledger") if (each := LedgerEntry.of(row)).qualified_name.endswith(sink)
    )


def _lost_event_row(world: VerifyContext) -> None:
    _drop(world, "runs", lambda row: row.partition == run_id("a") and row.key.startswith("event|"))


def _copied_blob_of_an_unknown_run(world: VerifyContext) -> None:
    """Plant a copied blob of an unknown run."""
    body = write("copied", "app1", "10:10", "/a")[1]
    place = replace(_events(world, "a")[1], run_id=run_id("copied"), digest="c" * 32)
    world.storage.put_new(EVENTS, place.blob, gzip.compress(body))


def _lost_event_blob(world: VerifyContext) -> None:
    world.storage.delete_blob(EVENTS, _events(world, "a")[0].blob)


def _event_row_without_a_blob(world: VerifyContext) -> None:
    place = replace(_events(world, "a")[1], digest="f" * 32)
    world.storage.insert("runs", Row(partition=place.run_id, key=place.row_key))


def _never_delivered(world: VerifyContext) -> None:
    post(world.storage, *write("again", "app1", "10:10", "/a"))


def _event_after_processing(world: VerifyContext) -> None:
    post(world.storage, event("a", "RUNNING", "10:00:10", inputs=["/a"], outputs=["/out"], application="app1"))


def _interrupted_processing(world: VerifyContext) -> None:
    world.storage.replace("runs", replace(_state(world, "a"), settled=False).row(world.storage))


def _forgotten_open_run(world: VerifyContext) -> None:
    """Plant a run without an end, older than the sweeper's starting point."""
    post(world.storage, write("open", "app1", "10:10", "/a")[0])


def _lost_state(world: VerifyContext) -> None:
    _drop(world, "runs", lambda row: (row.partition, row.key) == (run_id("a"), "state"))


def _lost_state_of_a_run_with_a_lifecycle_event(world: VerifyContext) -> None:
    _drop(world, "runs", lambda row: (row.partition, row.key) == (run_id("e"), "state"))


def _lost_blob_of_a_run_state(world: VerifyContext) -> None:
    lose_state(world.storage, "a")


def _lost_contribution(world: VerifyContext) -> None:
    _drop(world, "contributions", lambda row: row.key.startswith(run_id("app1")))


def _unknown_supporter(world: VerifyContext) -> None:
    """Replace the supporters of a contribution by an unknown one."""
    record = _contribution(world, "app1")
    other = {run_id("nobody"): structs.replace(supporter, content=None) for supporter in record.supporters.values()}
    world.storage.replace("contributions", replace(record, supporters=other).row(world.storage))


def _contribution_of_an_unknown_run(world: VerifyContext) -> None:
    """Plant a contribution of a run without stored events."""
    contribution = _contribution(world, "app1")
    if contribution.content is None:
        raise AssertionError("the world is not whole")
    content = structs.replace(contribution.content, inputs=(*contribution.content.inputs, asset("/ghost")))
    ghost = replace(
        contribution,
        application_run=run_id("ghost"),
        digest=content_digest(content),
        content=content,
        supporters={run_id("ghost"): next(iter(contribution.supporters.values()))},
    )
    world.storage.insert("contributions", ghost.row(world.storage))


def _foreign_supporter(world: VerifyContext) -> None:
    """Plant a run as a supporter of another run's contribution."""
    record = _contribution(world, "app1")
    supporter = structs.replace(next(iter(record.supporters.values())), generation=1)
    supporters = {**record.supporters, run_id("b"): supporter}
    world.storage.replace("contributions", replace(record, supporters=supporters).row(world.storage))


def _lost_content_of_a_contribution(world: VerifyContext) -> None:
    world.storage.delete_blob("contributions", next(iter(world.storage.blobs("contributions"))).name)


def _lost_process_reference(world: VerifyContext) -> None:
    _drop(world, "runs", lambda row: row.partition == run_id("app1") and row.key.startswith("process|"))


def _lost_lifecycle_row(world: VerifyContext) -> None:
    _drop(world, "runs", lambda row: row.partition == run_id("app3") and row.key.startswith(LIFECYCLE))


def _lost_publish_queue_row(world: VerifyContext) -> None:
    for place in post(world.storage, *write("more", "app2", "11:10", "/more")):
        settle(world.storage, place)
    for row in list(world.storage.scan("publishqueue")):
        world.storage.delete("publishqueue", row.partition, row.key)


def _lost_ledger_entry(world: VerifyContext) -> None:
    world.storage.delete("ledger", _entry(world, "/out").process, "catalog")


def _write_without_a_recorded_end(world: VerifyContext) -> None:
    past = datetime.now(UTC) - timedelta(hours=1)
    world.storage.replace("ledger", replace(_entry(world, "/out"), state=LedgerState.WRITING, until=past).row())


def _deleted_process(world: VerifyContext) -> None:
    world.catalog.delete_process(_entry(world, "/out").qualified_name)


def _entity_in_catalog(world: VerifyContext, sink: str) -> ProcessEntity:
    name = _entry(world, sink).qualified_name
    return world.catalog.read_processes([name])[name].entity


def _write(world: VerifyContext, entity: ProcessEntity) -> None:
    world.catalog.write_processes([entity], world.catalog.find([*entity.inputs, *entity.outputs]))


def _removed_input(world: VerifyContext) -> None:
    """Remove an input and keep the guid, as other clients do; with soft deletes ours would create the process again."""
    held = _entity_in_catalog(world, "/out")
    _write(world, replace(held, inputs=held.inputs[:1]))
    (now,) = world.catalog.read_processes([held.qualified_name]).values()
    world.storage.replace("ledger", replace(_entry(world, "/out"), guid=now.guid).row())


def _removed_column_mapping(world: VerifyContext) -> None:
    held = _entity_in_catalog(world, "/out")
    _write(world, replace(held, attributes=tuple({**dict(held.attributes), "columnMapping": "[]"}.items())))


def _wrong_guid(world: VerifyContext) -> None:
    guid = "00000000-0000-0000-0000-000000000000"
    world.storage.replace("ledger", replace(_entry(world, "/out"), guid=guid).row())


def _recreated_process(world: VerifyContext) -> None:
    """Delete the process and create the same one again, as another client could."""
    held = _entity_in_catalog(world, "/out")
    world.catalog.delete_process(held.qualified_name)
    _write(world, held)


def _orphan_process(world: VerifyContext) -> None:
    """Plant a process without any record; the placeholder of its output then has no process on record either."""
    sink = asset_entity(asset("/nobodys"))
    world.catalog.create_assets([sink])
    wanted = replace(_entity_in_catalog(world, "/out"), qualified_name=process(sink="/nobodys").qualified_name)
    _write(world, replace(wanted, outputs=(sink.key,)))


def _process_removed_in_the_ledger_only(world: VerifyContext) -> None:
    """Plant a failed run's process that the ledger says is removed, but the catalog still has."""
    name = _entry(world, "/final").qualified_name
    held = replace(_entity_in_catalog(world, "/final"), qualified_name=f"{name}/old")
    _write(world, held)
    entry = LedgerEntry(process=process_key(held.qualified_name), qualified_name=held.qualified_name)
    world.storage.insert("ledger", entry.row())


def _unused_placeholder(world: VerifyContext) -> None:
    world.catalog.create_assets([asset_entity(asset("/nobodys"))])


def _repaired_dead_letter(world: VerifyContext) -> None:
    put_blob(world.storage, EVENTS, _events(world, "damaged")[0].blob, gzip.compress(DAMAGED_START))


def _lost_blob_of_a_dead_letter(world: VerifyContext) -> None:
    world.storage.delete_blob(EVENTS, _events(world, "damaged")[0].blob)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A way to plant damage, and the kinds of the findings that it and its consequences cause.

    `says`: a part of the findings' text. `adds`: the repair adds something to the catalog that was never published.
    """

    plant: Callable[[VerifyContext], None]
    kinds: tuple[str, ...]
    says: str = ""
    adds: bool = False

    @property
    def name(self) -> str:
        """For tests."""
        return self.plant.__name__.strip("_").replace("_", " ")


def _all() -> Iterator[Planted]:
    yield Planted(plant=_lost_event_row, kinds=("blob without row",))
    yield Planted(plant=_copied_blob_of_an_unknown_run, kinds=("blob without row",))
    yield Planted(plant=_lost_event_blob, kinds=("row without blob",))
    yield Planted(plant=_event_row_without_a_blob, kinds=("row without blob",))
    yield Planted(plant=_never_delivered, kinds=("unprocessed run",), says="has ended, and has no state")
    yield Planted(
        plant=_event_after_processing, kinds=("unprocessed run",), says="was processed without 1 of its events"
    )
    yield Planted(plant=_interrupted_processing, kinds=("unprocessed run",), says="was interrupted")
    yield Planted(plant=_forgotten_open_run, kinds=("unprocessed run",), says="was not timed out")
    yield Planted(plant=_lost_state, kinds=("unprocessed run",), says="has no state")
    yield Planted(plant=_lost_state_of_a_run_with_a_lifecycle_event, kinds=("unprocessed run",), says="has no state")
    yield Planted(plant=_lost_blob_of_a_run_state, kinds=("unprocessed run",), says="a blob of it is gone")
    yield Planted(plant=_lost_contribution, kinds=("lost contribution", "unpublished process"), says="its contribution")
    yield Planted(plant=_unknown_supporter, kinds=("lost contribution", "unpublished process"), says="its contribution")
    yield Planted(
        plant=_contribution_of_an_unknown_run, kinds=("lost reference", "unpublished process", "orphan contribution")
    )
    yield Planted(plant=_foreign_supporter, kinds=("orphan contribution",))
    yield Planted(plant=_lost_content_of_a_contribution, kinds=("lost content",))
    yield Planted(plant=_lost_process_reference, kinds=("lost reference",))
    yield Planted(plant=_lost_lifecycle_row, kinds=("lost contribution", "unpublished process"), says="its entry")
    yield Planted(
        plant=_lost_publish_queue_row, kinds=("unpublished process",), says="is not in the publish queue", adds=True
    )
    yield Planted(
        plant=_lost_ledger_entry, kinds=("unpublished process",), says="is in the catalog, but not in the ledger"
    )
    yield Planted(plant=_write_without_a_recorded_end, kinds=("unpublished process",), says="no end is recorded")
    yield Planted(plant=_deleted_process, kinds=("changed process",), says="the catalog has no such process")
    yield Planted(plant=_removed_input, kinds=("changed process",), says="was changed in the catalog: inputs")
    yield Planted(
        plant=_removed_column_mapping, kinds=("changed process",), says="changed in the catalog: columnMapping"
    )
    yield Planted(plant=_wrong_guid, kinds=("changed process",), says="has the guid")
    yield Planted(plant=_recreated_process, kinds=("changed process",), says="has the guid")
    yield Planted(plant=_orphan_process, kinds=("orphan process",))
    yield Planted(plant=_process_removed_in_the_ledger_only, kinds=("orphan process",))
    yield Planted(plant=_unused_placeholder, kinds=("unused placeholder",))
    yield Planted(plant=_repaired_dead_letter, kinds=("usable letter",))
    yield Planted(plant=_lost_blob_of_a_dead_letter, kinds=("letter without blob", "row without blob"))


PLANTED = {each.name: each for each in _all()}
