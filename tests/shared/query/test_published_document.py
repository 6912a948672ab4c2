"""The published document: made of what changed, equal to one made of all rows, and as it was on a day."""

import contextlib
import gzip
from datetime import date, timedelta
from typing import Any

import pytest

from shared.errors import StorageUnavailable
from shared.lineage.document import Health, LineageDocument, decoded, encoded
from shared.publishing.context import PublishOptions
from shared.query.published_document import DOCUMENT, document_age, publish_document
from shared.query.recorded_document import document_of_record
from shared.records.publish_queue import document_marks, hold_publishing, release_publishing
from shared.serving.shelf import PublishedDocuments
from shared.storage.memory import MemoryStorage
from shared.storage_layout import APPLICATIONS, DAILY, NEWEST, PARTS, PROCESSES, PUBLISHED, day_of_document
from tests.support.building import IDENTITY, START, body, dataset, packed, source
from tests.support.building import lineage as columns_of
from tests.support.memory_catalog import MemoryCatalog
from tests.support.processing import deliver_event, post
from tests.support.publishing import Clock, publish, publish_options

KEEP = timedelta(days=400)


class CountedStorage(MemoryStorage):
    """Counts reads of whole tables and of partitions of processes."""

    def __init__(self) -> None:
        super().__init__()
        self.scans: list[str] = []
        self.processes: list[str] = []

    def scan(self, table: str) -> Any:
        self.scans.append(table)
        return super().scan(table)

    def partition(self, table: str, partition: str, *, since: str = "", before: str = "") -> Any:
        if table == PROCESSES:
            self.processes.append(partition)
        return super().partition(table, partition, since=since, before=before)


class World:
    """Jobs on record, published to a catalog, with a clock."""

    def __init__(self) -> None:
        self.storage, self.catalog, self.clock = CountedStorage(), MemoryCatalog(), Clock()

    @property
    def options(self) -> PublishOptions:
        return PublishOptions(**{**_values(publish_options(self.clock)), "documents": True})

    def run(self, job: str, *columns: str, run: str = "", minute: float = 0) -> None:
        fields = columns_of({name: [source("/raw", name, IDENTITY)] for name in columns})
        event = body(
            run=run or job,
            application=run or job,
            app_name=job,
            minute=minute,
            inputs=["/raw"],
            outputs=[dataset(f"/{job}", columnLineage=fields)],
        )
        for place in post(self.storage, packed(event)):
            deliver_event(self.storage, place)
        publish(self.storage, self.catalog, self.options)

    def publish(self) -> bool:
        return bool(publish_document(self.storage, self.options, KEEP, seconds=lambda: 0.0)["document_published"])

    @property
    def newest(self) -> LineageDocument:
        position = DOCUMENT.load(self.storage)
        assert position is not None
        return _read(self.storage, position.blob)


def _values(options: PublishOptions) -> dict[str, Any]:
    return {name: getattr(options, name) for name in options.__slots__}


def _read(storage: MemoryStorage, blob: str) -> LineageDocument:
    content = storage.get(PUBLISHED, blob)
    assert content is not None
    return decoded(gzip.decompress(content))


def names(storage: MemoryStorage, folder: str) -> list[str]:
    return [fact.name for fact in storage.blobs(PUBLISHED, folder)]


@pytest.fixture
def world() -> World:
    published_world = World()
    for job in ("orders", "customers", "sales"):
        published_world.run(job, "id")
    assert published_world.publish()
    return published_world


def test_the_document_is_that_of_the_record_and_is_published_once(world: World) -> None:
    assert encoded(world.newest) == encoded(document_of_record(world.storage, world.options, expressions=True))
    assert not document_marks(world.storage)
    assert not world.publish()
    assert len(names(world.storage, NEWEST)) == 1


def test_a_change_is_read_by_its_process_alone(world: World) -> None:
    world.run("orders", "id", "amount", run="again", minute=5)
    world.storage.scans.clear()
    world.storage.processes.clear()
    assert world.publish()
    assert (world.storage.scans, len(world.storage.processes)) == ([], 1)
    assert encoded(world.newest) == encoded(document_of_record(world.storage, world.options, expressions=True))
    assert [column.name for column in world.newest.columns].count("amount") == 2
    assert len(names(world.storage, NEWEST)) == 2, "a reader may be at the one before"
    assert len(names(world.storage, PARTS)) == 1


def test_results_of_quality_tests_alone_make_a_new_document(world: World) -> None:
    assertion = {"assertion": "unique", "column": "id", "success": False}
    source = dataset("/orders")
    source["inputFacets"] = {"dataQualityAssertions": {"assertions": [assertion]}}
    for place in post(world.storage, packed(body("COMPLETE", run="check", minute=9, inputs=[source]))):
        deliver_event(world.storage, place)
    publish(world.storage, world.catalog, world.options)
    world.storage.scans.clear()
    world.storage.processes.clear()
    assert world.publish()
    assert (world.storage.scans, world.storage.processes) == ([], [])
    assert [test.name for test in world.newest.failed_tests] == ["unique"]
    assert encoded(world.newest) == encoded(document_of_record(world.storage, world.options, expressions=True))


def test_an_unchanged_process_makes_no_new_document(world: World) -> None:
    world.run("orders", "id", run="orders")
    assert not world.publish()
    assert not document_marks(world.storage)


def test_the_last_document_of_a_day_is_kept_until_it_is_too_old(world: World) -> None:
    lineage_document_before, first = world.newest, world.clock().date()
    world.clock.at += timedelta(days=1)
    world.run("orders", "amount", run="again", minute=5)
    assert world.publish()
    assert names(world.storage, DAILY) == [f"{DAILY}{first}.json.gz"]
    assert _read(world.storage, f"{DAILY}{first}.json.gz") == lineage_document_before
    world.clock.at += KEEP
    world.run("orders", "day", run="later", minute=9)
    assert world.publish()
    assert names(world.storage, DAILY) == [f"{DAILY}{first + timedelta(days=1)}.json.gz"]


def test_days_are_kept_as_differences_where_these_are_smaller(world: World) -> None:
    """Each day is what it was, also when the whole document behind it is older than what is kept."""
    for number in range(60):
        world.run(f"table{number:02}", "id", "amount", "day")
    assert world.publish()
    documents: dict[date, bytes] = {}
    for day in range(40):
        documents[world.clock().date()] = encoded(world.newest)
        world.clock.at += timedelta(days=1)
        world.run("orders", "id", f"column{day}", run=f"run{day}", minute=5 + 1440 * day)
        assert world.publish()
    kept_documents = {dates: name for name in names(world.storage, DAILY) if (dates := day_of_document(name))}
    bases = sorted({base or day for day, base in kept_documents})
    assert [(base - bases[0]).days for base in bases] == [0, 31]
    shelf = PublishedDocuments(world.storage)
    assert shelf.days() == tuple(documents)
    for date_of, document in documents.items():
        assert encoded(shelf.of(date_of).document) == document
    sizes = {bool(base): len(world.storage.get(PUBLISHED, name) or b"") for (_, base), name in kept_documents.items()}
    assert sizes[True] * 4 < sizes[False]
    world.clock.at += KEEP - timedelta(days=20)
    world.run("orders", "id", run="late", minute=1440 * 420)
    assert world.publish()
    remaining_days = PublishedDocuments(world.storage).days()
    assert remaining_days[0] == bases[0], "later days refer to it"
    assert remaining_days[1] >= world.clock().date() - KEEP
    assert encoded(PublishedDocuments(world.storage).of(remaining_days[1]).document) == documents[remaining_days[1]]


def test_all_rows_are_read_once_a_day(world: World) -> None:
    world.storage.scans.clear()
    world.clock.at += timedelta(days=1)
    world.publish()
    assert set(world.storage.scans) == {PROCESSES, APPLICATIONS}


def test_lost_parts_are_made_again(world: World) -> None:
    for name in names(world.storage, PARTS):
        world.storage.delete_blob(PUBLISHED, name)
    world.run("orders", "id", "amount", run="again", minute=5)
    assert world.publish()
    assert encoded(world.newest) == encoded(document_of_record(world.storage, world.options, expressions=True))


def test_an_incomplete_record_is_not_published(world: World) -> None:
    hold_publishing(world.storage, "replay")
    world.run("orders", "id", "amount", run="again", minute=5)
    release_publishing(world.storage)
    publish(world.storage, world.catalog, world.options)
    hold_publishing(world.storage, "replay")
    assert not world.publish()
    release_publishing(world.storage)
    assert world.publish()


def test_a_change_that_is_not_published_for_long_is_stale(world: World) -> None:
    assert document_age(MemoryStorage(), world.clock()) is None
    world.run("orders", "id", "amount", run="again", minute=5)
    (mark,) = document_marks(world.storage)
    fresh_document_age = document_age(world.storage, mark.left)
    assert fresh_document_age is not None
    assert (fresh_document_age.waiting, fresh_document_age.is_stale) == (1, False)
    late = document_age(world.storage, mark.left + timedelta(minutes=16))
    assert late is not None
    assert late.is_stale


def test_a_publication_that_ends_at_any_call_is_made_good_by_the_next(world: World) -> None:
    world.run("orders", "id", "amount", run="again", minute=5)
    expected = encoded(document_of_record(world.storage, world.options, expressions=True))
    for method in ("put_new", "upsert", "delete_blob", "transact"):
        original = getattr(world.storage, method)

        def failing(*_arguments: object) -> object:
            raise StorageUnavailable("away")

        setattr(world.storage, method, failing)
        with contextlib.suppress(StorageUnavailable):
            world.publish()
        setattr(world.storage, method, original)
    world.publish()
    assert encoded(world.newest) == expected
    assert not document_marks(world.storage)


def test_an_overdue_job_is_marked_without_a_change() -> None:
    world = World()
    for number in range(1, 8):
        world.run("orders", "id", run=f"r{number}", minute=60 * number)
    for late, health in ((timedelta(minutes=30), Health.GOOD), (timedelta(hours=9), Health.OVERDUE)):
        world.clock.at = START + timedelta(hours=7) + late
        assert world.publish()
        assert [process.health for process in world.newest.processes] == [health]
