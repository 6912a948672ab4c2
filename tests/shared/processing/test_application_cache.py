"""The cache of recently read application facts saves a read, and outdated facts change nothing."""

from collections.abc import Sequence

from shared.processing.application_cache import ApplicationCache
from shared.processing.processor import RunProcessor
from shared.records.application.record import Application
from shared.records.run_state import ContributionRecord
from shared.storage.memory import MemoryStorage
from shared.storage_layout import EVENTS, StoredEvent
from tests.support.events import event, run_id, write
from tests.support.processing import Watched, post

_NOTEBOOK = {"spark.databricks.notebook.path": "/jobs/daily", "orgId": "1"}


def settle(
    storage: MemoryStorage, places: Sequence[StoredEvent], application_cache: ApplicationCache | None = None
) -> None:
    for place in places:
        RunProcessor(storage=storage, application_cache=application_cache).receive(
            place, storage.get(EVENTS, place.blob) or b""
        )


def standing(storage: MemoryStorage) -> list[tuple[str, str]]:
    """The pairs of process and supporting run, without retracted ones."""
    records = [ContributionRecord.of(row, storage) for row in storage.scan("contributions")]
    return sorted(
        (record.content.qualified_name, run)
        for record in records
        if record.content
        for run, supporter in record.supporters.items()
        if not supporter.retracted
    )


def test_the_next_run_of_an_application_costs_one_point_read_less() -> None:
    storage, application_cache = Watched(MemoryStorage()), ApplicationCache()
    settle(storage.real, post(storage.real, *write("a", "app", "10:00", "/a")), application_cache)
    _, end = post(storage.real, *write("b", "app", "10:10", "/b"))
    RunProcessor(storage=storage, application_cache=application_cache).receive(
        end, storage.real.get(EVENTS, end.blob) or b""
    )
    assert storage.calls["read"] == 1  # the application facts, after the run's own rows are written


def test_an_outdated_cache_gives_the_same_result_as_no_cache() -> None:
    first = write("a", "app", "10:00", "/a")
    telling = [
        event(
            "b",
            kind,
            at,
            inputs=["/b"],
            outputs=["/other"],
            application="app",
            job="app.adaptive_spark_plan.other",
            properties=_NOTEBOOK,
        )
        for kind, at in (("START", "10:10:00"), ("COMPLETE", "10:10:30"))
    ]
    last = write("c", "app", "10:20", "/c")
    ends = []
    for old in (ApplicationCache(), None):
        storage = MemoryStorage()
        settle(storage, post(storage, *first), old)
        settle(storage, post(storage, *telling))  # elsewhere
        if old:
            assert not old.get(storage, run_id("app")).facts.identities
        settle(storage, post(storage, *last), old)
        ends.append(standing(storage))
    assert ends[0] == ends[1]
    assert {name.split("/")[3] for name, _ in ends[0]} == {"notebook %2Fjobs%2Fdaily"}


def test_the_cache_holds_only_the_most_recently_used_applications() -> None:
    storage, application_cache = Watched(MemoryStorage()), ApplicationCache(size=2)
    for run in ("one", "two", "three"):
        application_cache.note(Application(run=run))
    for run in ("two", "three"):
        application_cache.get(storage, run)
    assert storage.calls["read"] == 0
    application_cache.get(storage, "one")
    assert storage.calls["read"] == 1
