"""Filling a catalog from processes that were made elsewhere: sent once, continued after a stop, with scanned assets."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from shared.atlas.entities import AssetEntity
from shared.errors import CatalogUnavailable
from shared.maintenance.publish_missing import import_processes
from shared.openlineage.decoding import decode
from shared.publishing.context import PublishOptions
from shared.records.ledger import ledger_entry, put_entry, request_rewrite
from shared.records.publish_queue import enqueue
from shared.storage.memory import MemoryStorage
from shared.storage_layout import process_key
from shared.translation.reference import translate_history
from tests.support.events import write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.publishing import context_of, post_and_deliver, process_in, publish
from tests.support.refusing_catalog import RefusingByName, refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.model import Process
    from shared.publishing.context import Published

EVENTS = Path(__file__).parents[2] / "golden/spark35-ol1.53/files/events.jsonl"
PROCESSES = translate_history([decode(line) for line in EVENTS.read_bytes().splitlines()]).processes


def choking(_: str = "") -> Exception:
    return CatalogUnavailable("500", after=0, over=True)


def processes_named(*names: str) -> "Sequence[Process]":
    """A process for each name, with sink `/{name}`."""
    bodies = [body for name in names for body in write(name, name, "10:00", "/in", sink=f"/{name}")]
    return translate_history([decode(body) for body in bodies]).processes


def test_processes_in_the_catalog_are_not_sent_again() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    options = PublishOptions(batch=3)
    written_counts: list[int] = []
    first = import_processes(
        context_of(
            storage,
            catalog,
            replace(options, note=lambda publish_result: written_counts.append(publish_result.written)),
        ),
        PROCESSES,
    )
    assert (first.written, first.unchanged) == (len(PROCESSES), 0)
    assert written_counts == sorted(written_counts)
    assert written_counts[-1] == len(PROCESSES)
    second_result = import_processes(context_of(storage, catalog, options), PROCESSES)
    assert (second_result.written, second_result.unchanged) == (0, len(PROCESSES))
    for process in PROCESSES:
        assert process_in(catalog, process.qualified_name)


def test_in_shadow_mode_nothing_is_written() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    assert import_processes(context_of(storage, catalog, PublishOptions(shadow=True)), PROCESSES).written == 0
    assert catalog.writes == 0
    assert import_processes(context_of(storage, catalog), PROCESSES).written == len(PROCESSES)


def test_an_interrupted_import_is_continued() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    import_processes(context_of(storage, catalog), PROCESSES[:2])
    remaining_result = import_processes(context_of(storage, catalog), PROCESSES)
    assert (remaining_result.written, remaining_result.unchanged) == (len(PROCESSES) - 2, 2)


def test_an_import_waits_for_the_publisher() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    lease = storage.lease("publisher", 60)
    assert lease
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        lease.release()

    context = context_of(storage, catalog, PublishOptions(rest=wait))
    import_result: Published = import_processes(context, PROCESSES[:1])
    assert import_result.written == 1
    assert len(waited) == 1


def test_imported_lineage_uses_scanned_assets_and_the_publisher_changes_nothing() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    bodies = [
        body.replace(b'"file"', b'"abfss://raw@acct.dfs.core.windows.net"') for body in write("a", "x", "10:00", "/a")
    ]
    root = "https://acct.dfs.core.windows.net/raw"
    scanned = ("azure_datalake_gen2_resource_set", f"{root}/a/{{SparkPartitions}}")
    catalog.create_assets([AssetEntity(type=scanned[0], qualified_name=scanned[1], attributes=(("name", "a"),))])
    processes = translate_history([decode(body) for body in bodies]).processes
    assert import_processes(context_of(storage, catalog), processes).written == 1
    (held_process_entity,) = catalog.processes.values()
    assert held_process_entity.inputs == (scanned,)
    post_and_deliver(storage, *bodies)
    publish_result = publish(storage, catalog, PublishOptions())
    assert (publish_result.written, publish_result.unchanged) == (0, 1)


def test_a_refused_process_is_found_in_few_calls() -> None:
    storage, catalog = MemoryStorage(), RefusingByName(refusal, "/bad")
    processes = processes_named(*map(str, range(31)), "bad")
    import_result = import_processes(context_of(storage, catalog), processes)
    assert (import_result.written, import_result.refused) == (31, 1)
    assert "ATLAS-400-00-01A" in import_result.error
    assert catalog.placings + len(catalog.sizes) <= 20
    catalog.ends = ()
    assert import_processes(context_of(storage, catalog), processes).written == 1


def test_an_imported_process_stays_until_a_run_of_its_own_supports_it() -> None:
    """A scan, a backfill or a repair enqueues it; then it has no contributions, and must not count as withdrawn."""
    storage, catalog = MemoryStorage(), MemoryCatalog()
    events = write("a", "app", "10:00", "/in", sink="/out")
    (process,) = translate_history(map(decode, events)).processes
    key = process_key(process.qualified_name)
    assert import_processes(context_of(storage, catalog), [process]).written == 1
    request_rewrite(storage, key)
    enqueue(storage, [key])
    publish_result = publish(storage, catalog, PublishOptions())
    assert (publish_result.removed, publish_result.unchanged) == (0, 1)
    assert process_in(catalog, process.qualified_name)
    post_and_deliver(storage, *events)
    assert publish(storage, catalog, PublishOptions()).written == 1
    post_and_deliver(storage, write("a", "app", "10:00", "/in", sink="/out", end="FAIL")[1])
    assert publish(storage, catalog, PublishOptions()).removed == 1
    assert not process_in(catalog, process.qualified_name)


def test_an_imported_process_can_be_retired() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    (process,) = translate_history(map(decode, write("a", "app", "10:00", "/in", sink="/out"))).processes
    import_processes(context_of(storage, catalog), [process])
    key = process_key(process.qualified_name)
    assert put_entry(storage, replace(ledger_entry(storage, key), retired=datetime.now(UTC)))
    enqueue(storage, [key])
    assert publish(storage, catalog, PublishOptions()).removed == 1


def test_a_process_that_makes_the_catalog_fail_does_not_keep_others_from_being_written() -> None:
    storage, catalog = MemoryStorage(), RefusingByName(choking, "/bad")
    first_processes, other_processes = (
        processes_named("bad", *map(str, range(9))),
        processes_named(*map(str, range(9, 19))),
    )
    options = PublishOptions(batch=10)
    first = import_processes(context_of(storage, catalog, options), first_processes)
    assert (first.written, first.refused, first.error) == (9, 1, "500")
    second_result = import_processes(context_of(storage, catalog, options), [*first_processes, *other_processes])
    assert (second_result.written, second_result.unchanged, second_result.refused, second_result.error) == (
        10,
        9,
        1,
        "500",
    )
    catalog.ends = ()
    assert import_processes(context_of(storage, catalog, options), first_processes).written == 1


def test_a_catalog_that_fails_on_both_halves_of_a_call_ends_the_import() -> None:
    storage, catalog = MemoryStorage(), RefusingByName(choking, *"0123456789")
    processes = processes_named(*map(str, range(20)))
    with pytest.raises(CatalogUnavailable, match="500"):
        import_processes(context_of(storage, catalog), processes)
    assert catalog.placings == 3
    catalog.ends = ()
    assert import_processes(context_of(storage, catalog), processes).written == len(processes), (
        "its calls were over: nothing is waited for"
    )


@pytest.mark.parametrize("error", [CatalogUnavailable("no answer"), CatalogUnavailable("429", over=True, blames=False)])
def test_a_catalog_that_does_not_answer_or_throttles_ends_the_import_at_once(error: CatalogUnavailable) -> None:
    storage, catalog = MemoryStorage(), RefusingByName(lambda _: error, "/bad")
    with pytest.raises(CatalogUnavailable):
        import_processes(context_of(storage, catalog), processes_named("bad", *map(str, range(9))))
    assert catalog.placings == 1
