"""The facts of a process's last run in the catalog; its SQL comes from its events, as long as they can be read."""

import pytest

from shared.storage.memory import MemoryStorage
from shared.storage_layout import EVENTS
from tests.support.events import event, write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.publish_world import Clock, fold, publish, publish_options
from tests.support.runtime import Runtime

SQL = "INSERT INTO out SELECT * FROM a WHERE name = 'Ann'"


def facts_of(storage: MemoryStorage, *, with_statement: bool) -> str:
    """The facts of the only process, as they are written to a new catalog."""
    catalog = MemoryCatalog()
    assert publish(storage, catalog, publish_options(Clock(), with_statement=with_statement)).written == 1
    (process,) = catalog.processes.values()
    return process.facts


def job_end() -> bytes:
    return event("a", "COMPLETE", "10:00:00", inputs=["/a"], outputs=["/out"], application="app1", sql=SQL)


def job_with_sql() -> MemoryStorage:
    storage = MemoryStorage()
    fold(storage, job_end())
    return storage


def test_the_sql_of_the_last_run_is_shown_without_its_literals_if_that_is_set() -> None:
    assert facts_of(job_with_sql(), with_statement=True).splitlines()[-1] == (
        "SQL: INSERT INTO out SELECT * FROM a WHERE name = ?"
    )
    assert "SQL" not in facts_of(job_with_sql(), with_statement=False)


def test_a_run_whose_events_are_damaged_has_no_sql(caplog: pytest.LogCaptureFixture) -> None:
    storage = job_with_sql()
    (blob,) = storage.blobs(EVENTS)
    storage.delete_blob(EVENTS, blob.name)
    storage.put_new(EVENTS, blob.name, b"damaged")
    assert "SQL" not in facts_of(storage, with_statement=True)
    assert "statement not shown" in caplog.text


def test_a_run_of_many_events_keeps_its_sql_in_its_record() -> None:
    runtime = Runtime()
    for second in range(9):
        runtime.receive(event("a", "RUNNING", f"09:59:0{second}", inputs=["/a"], outputs=["/out"], application="app1"))
    runtime.post(job_end())
    for blob in list(runtime.storage.blobs(EVENTS)):
        runtime.storage.delete_blob(EVENTS, blob.name)
    runtime.publish(with_statement=True)
    (process,) = runtime.catalog.processes.values()
    assert process.facts.splitlines()[-1] == "SQL: INSERT INTO out SELECT * FROM a WHERE name = ?"


def test_a_process_whose_last_run_has_failed_has_no_facts() -> None:
    storage = MemoryStorage()
    fold(storage, *write("a", "app1", "10:00", "/a"), *write("b", "app1", "10:01", "/b"))
    fold(storage, write("b", "app1", "10:02", "/b", end="FAIL")[1])
    assert facts_of(storage, with_statement=True) == ""
