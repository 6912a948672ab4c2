"""A small consistent world, and a way to plant each kind of damage in it."""

import gzip
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import structs

from shared.applications import rows
from shared.applications.partition import OpenApplication, read_whole
from shared.applications.processor import ApplicationProcessor
from shared.atlas.entities import ProcessEntity, asset_entity
from shared.catalog.port import Catalog
from shared.events.archive import is_index
from shared.maintenance.publish_missing import publish_all
from shared.maintenance.verify.findings import Kind, VerifyContext
from shared.publishing.context import PublishOptions
from shared.records.ledger import LedgerEntry, ledger_entries, put_entry
from shared.records.states import LedgerState
from shared.records.waits import Landing
from shared.storage.port import Row, Storage
from shared.storage_layout import (
    APPLICATIONS,
    ARCHIVE,
    CATALOG,
    EVENTS,
    HEADER,
    PROCESSES,
    PUBLISH_QUEUE,
    RUN,
    EventRow,
    StoredEvent,
    process_key,
    stored_from_blob,
)
from shared.translation.aggregate import SupersessionPolicy
from tests.support.archiving import archive, archiving
from tests.support.building import asset, process
from tests.support.events import event, run_id, write
from tests.support.processing import deliver_event, post
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
    events = post(storage, *bodies)
    put_blob(storage, EVENTS, events[-1].blob, b"no gzip")
    for row in list(storage.scan(APPLICATIONS)):
        if row.key == events[-1].row_key:
            storage.upsert(APPLICATIONS, EventRow(event=events[-1]).row(row.partition))
    for stored_event in (*events[:-1], *post(storage, DAMAGED_RUN_END)):
        deliver_event(storage, stored_event)
    publish_all(context_of(storage, catalog, PUBLISHING))
    return VerifyContext(
        storage=storage,
        catalog=catalog,
        publishing=PUBLISHING,
        processor=ApplicationProcessor(storage=storage),
        grace=timedelta(0),
        end_timeout=timedelta(0),
    )


def put_blob(storage: Storage, container: str, name: str, data: bytes) -> None:
    """Change a blob, which the port can't do."""
    storage.delete_blob(container, name)
    storage.put_new(container, name, data)


def _events(world: VerifyContext, run: str) -> list[StoredEvent]:
    stored_events = (stored_from_blob(fact.name) for fact in world.storage.blobs(EVENTS))
    return [stored for stored in stored_events if stored.run_id == run_id(run)]


def _application(world: VerifyContext, name: str) -> OpenApplication:
    return read_whole(world.storage, run_id(name))


def _entry(world: VerifyContext, sink: str) -> LedgerEntry:
    return next(entry for entry in ledger_entries(world.storage) if entry.qualified_name.endswith(sink))


# --- events and applications


def _event_that_was_never_noted(world: VerifyContext) -> None:
    """Plant an event whose row is lost, of a run that is on record."""
    body = event("a", "RUNNING", "10:00:10", inputs=["/a"], outputs=["/out"], application="app1")
    for stored in post(world.storage, body):
        world.storage.delete(APPLICATIONS, stored.application, stored.row_key)


def _copied_blob_of_an_unknown_run(world: VerifyContext) -> None:
    body = write("copied", "app1", "10:10", "/a")[1]
    stored = replace(_events(world, "a")[1], run_id=run_id("copied"), digest="c" * 32)
    world.storage.put_new(EVENTS, stored.blob, gzip.compress(body))


def _event_row_without_a_blob(world: VerifyContext) -> None:
    stored = replace(_events(world, "a")[1], digest="f" * 32)
    world.storage.insert(APPLICATIONS, EventRow(event=stored).row(stored.application))


def _never_delivered(world: VerifyContext) -> None:
    post(world.storage, *write("again", "app1", "10:10", "/a"))


def _event_after_the_fold(world: VerifyContext) -> None:
    post(world.storage, event("a", "RUNNING", "10:00:10", inputs=["/a"], outputs=["/out"], application="app1"))


def _open_run_that_the_sweeper_forgot(world: VerifyContext) -> None:
    post(world.storage, write("open", "app1", "10:10", "/a")[0])


def _lost_record(world: VerifyContext) -> None:
    world.storage.delete(APPLICATIONS, run_id("app1"), f"{RUN}{run_id('a')}")


def _lost_record_of_a_run_with_a_lifecycle_event(world: VerifyContext) -> None:
    world.storage.delete(APPLICATIONS, run_id("app3"), f"{RUN}{run_id('e')}")


def _lost_content_of_a_record(world: VerifyContext) -> None:
    key = f"{RUN}{run_id('a')}"
    world.storage.upsert(APPLICATIONS, Row(partition=run_id("app1"), key=key, values={"blob": "nowhere.json.gz"}))


def _lost_header(world: VerifyContext) -> None:
    world.storage.delete(APPLICATIONS, run_id("app1"), HEADER)


def _lost_content_of_a_header(world: VerifyContext) -> None:
    row = world.storage.read(APPLICATIONS, run_id("app1"), HEADER)
    assert row
    world.storage.upsert(
        APPLICATIONS, replace(row, values={"version": row.values["version"], "blob": "nowhere.json.gz"})
    )


def _with_state(world: VerifyContext, name: str, **changes: Any) -> None:
    application = _application(world, name)
    state = structs.replace(application.state, **changes)
    world.storage.upsert(APPLICATIONS, rows.header(run_id(name), state, "", {}, world.storage).row)


def _lost_contents_of_a_state(world: VerifyContext) -> None:
    _with_state(world, "app1", contents={})


def _unknown_supporter(world: VerifyContext) -> None:
    """Plant a run without a record as the only supporter of a content."""
    contents = _application(world, "app1").state.contents
    changed = {
        digest: structs.replace(content, supporters={run_id("nobody"): content.seen})
        for digest, content in contents.items()
    }
    _with_state(world, "app1", contents=changed)


def _foreign_content(world: VerifyContext) -> None:
    """Plant a content of another application."""
    contents = _application(world, "app2").state.contents
    changed = {
        digest: structs.replace(content, supporters={run_id("a"): content.seen}) for digest, content in contents.items()
    }
    _with_state(world, "app1", contents={**_application(world, "app1").state.contents, **changed})


# --- processes


def _lost_part(world: VerifyContext) -> None:
    world.storage.delete(PROCESSES, _entry(world, "/out").process, run_id("app2"))


def _outdated_part(world: VerifyContext) -> None:
    key = _entry(world, "/out").process
    row, other = (world.storage.read(PROCESSES, key, run_id(name)) for name in ("app1", "app2"))
    assert row
    assert other
    world.storage.upsert(PROCESSES, replace(other, values={**other.values, "part": row.values["part"]}))


def _lost_publish_queue_row(world: VerifyContext) -> None:
    for stored in post(world.storage, *write("more", "app2", "11:10", "/more")):
        deliver_event(world.storage, stored)
    for row in list(world.storage.scan(PUBLISH_QUEUE)):
        world.storage.delete(PUBLISH_QUEUE, row.partition, row.key)


def _lost_ledger_entry(world: VerifyContext) -> None:
    world.storage.delete(PROCESSES, _entry(world, "/out").process, CATALOG)


def _write_without_a_recorded_end(world: VerifyContext) -> None:
    past_landing = Landing(until=datetime.now(UTC) - timedelta(hours=1))
    put_entry(world.storage, replace(_entry(world, "/out"), state=LedgerState.WRITING, landing=past_landing))


def _deleted_process(world: VerifyContext) -> None:
    world.catalog.delete_process(_entry(world, "/out").qualified_name)


def _entity_in_catalog(world: VerifyContext, sink: str) -> ProcessEntity:
    name = _entry(world, sink).qualified_name
    return world.catalog.read_processes([name])[name].entity


def _write(world: VerifyContext, entity: ProcessEntity) -> None:
    world.catalog.write_processes([entity], world.catalog.find([*entity.inputs, *entity.outputs]))


def _removed_input(world: VerifyContext) -> None:
    """Remove an input and keep the guid, as other clients do; with soft deletes ours would create the process again."""
    held_process_entity = _entity_in_catalog(world, "/out")
    _write(world, replace(held_process_entity, inputs=held_process_entity.inputs[:1]))
    (now,) = world.catalog.read_processes([held_process_entity.qualified_name]).values()
    put_entry(world.storage, replace(_entry(world, "/out"), guid=now.guid))


def _removed_column_mapping(world: VerifyContext) -> None:
    held_entity = _entity_in_catalog(world, "/out")
    _write(
        world, replace(held_entity, attributes=tuple({**dict(held_entity.attributes), "columnMapping": "[]"}.items()))
    )


def _wrong_guid(world: VerifyContext) -> None:
    guid = "00000000-0000-0000-0000-000000000000"
    put_entry(world.storage, replace(_entry(world, "/out"), guid=guid))


def _recreated_process(world: VerifyContext) -> None:
    """Delete the process and create the same one again, as another client could."""
    held_entity = _entity_in_catalog(world, "/out")
    world.catalog.delete_process(held_entity.qualified_name)
    _write(world, held_entity)


def _orphan_process(world: VerifyContext) -> None:
    """Plant a process without any record; the placeholder of its output then has no process on record either."""
    sink = asset_entity(asset("/nobodys"))
    world.catalog.create_assets([sink])
    wanted_process_entity = replace(
        _entity_in_catalog(world, "/out"), qualified_name=process(sink="/nobodys").qualified_name
    )
    _write(world, replace(wanted_process_entity, outputs=(sink.key,)))


def _process_removed_in_the_ledger_only(world: VerifyContext) -> None:
    """Plant a failed run's process that the ledger says is removed, but the catalog still has."""
    name = _entry(world, "/final").qualified_name
    held_entity = replace(_entity_in_catalog(world, "/final"), qualified_name=f"{name}/old")
    _write(world, held_entity)
    entry = LedgerEntry(process=process_key(held_entity.qualified_name), qualified_name=held_entity.qualified_name)
    put_entry(world.storage, entry)


def _unused_placeholder(world: VerifyContext) -> None:
    world.catalog.create_assets([asset_entity(asset("/nobodys"))])


def _repaired_dead_letter(world: VerifyContext) -> None:
    put_blob(world.storage, EVENTS, _events(world, "damaged")[0].blob, gzip.compress(DAMAGED_START))


def _lost_blob_of_a_dead_letter(world: VerifyContext) -> None:
    world.storage.delete_blob(EVENTS, _events(world, "damaged")[0].blob)


def _lost_index_of_the_archive(world: VerifyContext) -> None:
    archive(world.storage, archiving())
    for fact in list(world.storage.blobs(ARCHIVE)):
        if is_index(fact.name):
            world.storage.delete_blob(ARCHIVE, fact.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A way to plant damage, and the kinds of the findings that it and its consequences cause.

    `says`: a part of the findings' text. `adds`: the repair adds something to the catalog that was never published.
    `is_left`: only a copy of the account repairs it.
    """

    plant: Callable[[VerifyContext], None]
    kinds: tuple[Kind, ...]
    says: str = ""
    adds: bool = False
    is_left: bool = False

    @property
    def name(self) -> str:
        """For tests."""
        return self.plant.__name__.strip("_").replace("_", " ")


def _all() -> Iterator[Planted]:
    application, share, planned = Kind.APPLICATION, Kind.PART, Kind.PROCESS
    yield Planted(plant=_event_that_was_never_noted, kinds=(application,), says="1 of its events are stored, and not")
    yield Planted(plant=_copied_blob_of_an_unknown_run, kinds=(application,), says="1 of its events are stored")
    yield Planted(plant=_event_row_without_a_blob, kinds=(Kind.ORPHAN_ROW,))
    yield Planted(plant=_never_delivered, kinds=(application,), says="is over, and not folded")
    yield Planted(plant=_event_after_the_fold, kinds=(application,), says="is over, and not folded")
    yield Planted(plant=_open_run_that_the_sweeper_forgot, kinds=(application,), says="was not timed out")
    yield Planted(plant=_lost_record, kinds=(application,), says="and has no record")
    yield Planted(plant=_lost_record_of_a_run_with_a_lifecycle_event, kinds=(application,), says="not on record")
    yield Planted(plant=_lost_content_of_a_record, kinds=(application,), says="is gone")
    yield Planted(plant=_lost_header, kinds=(application, share), says="contributes what the state lacks")
    yield Planted(plant=_lost_content_of_a_header, kinds=(application,), says="content of !header is gone")
    yield Planted(plant=_lost_contents_of_a_state, kinds=(application, share), says="contributes what the state lacks")
    yield Planted(plant=_unknown_supporter, kinds=(application,), says="contributes what the state lacks")
    yield Planted(plant=_foreign_content, kinds=(application, share), says="what its record does not have")
    yield Planted(plant=_lost_part, kinds=(share, planned), says="has nothing of application")
    yield Planted(plant=_outdated_part, kinds=(share, planned), says="has something else of application")
    yield Planted(plant=_lost_publish_queue_row, kinds=(share, planned), says="has something else", adds=True)
    yield Planted(plant=_lost_ledger_entry, kinds=(planned,), says="but not in the ledger")
    yield Planted(plant=_write_without_a_recorded_end, kinds=(planned,), says="no end is recorded")
    yield Planted(plant=_deleted_process, kinds=(planned,), says="the catalog has no such process")
    yield Planted(plant=_removed_input, kinds=(planned,), says="was changed in the catalog: inputs")
    yield Planted(plant=_removed_column_mapping, kinds=(planned,), says="columnMapping")
    yield Planted(plant=_wrong_guid, kinds=(planned,), says="has the guid")
    yield Planted(plant=_recreated_process, kinds=(planned,), says="has the guid")
    yield Planted(plant=_orphan_process, kinds=(planned,), says="has no contributions")
    yield Planted(plant=_process_removed_in_the_ledger_only, kinds=(planned,), says="has no contributions")
    yield Planted(plant=_unused_placeholder, kinds=(Kind.PLACEHOLDER,))
    yield Planted(plant=_repaired_dead_letter, kinds=(application,), says="can be used now")
    yield Planted(plant=_lost_blob_of_a_dead_letter, kinds=(Kind.ORPHAN_ROW,))
    yield Planted(plant=_lost_index_of_the_archive, kinds=(Kind.ARCHIVE,), says="has no index", is_left=True)


PLANTED = {planted.name: planted for planted in _all()}
