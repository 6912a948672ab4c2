"""Filling a catalog from processes that were made elsewhere: sent once, taken up again, nobody else's work undone."""

from pathlib import Path

from shared.catalog.memory import MemoryCatalog
from shared.openlineage import decode
from shared.pipeline import Published, Publishing, backfill
from shared.storage.memory import MemoryStorage
from shared.translation import translate_history

EVENTS = Path(__file__).parent.parent / "golden/spark35-ol1.53/files/events.jsonl"
PROCESSES = translate_history([decode(line) for line in EVENTS.read_bytes().splitlines()]).processes


def test_what_is_there_is_not_sent_again() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    how = Publishing(batch=3)
    told: list[int] = []
    first = backfill(storage, catalog, how, PROCESSES, note_done=lambda done: told.append(done.written))
    assert (first.written, first.unchanged) == (len(PROCESSES), 0)
    assert told == sorted(told)
    assert told[-1] == len(PROCESSES)
    again = backfill(storage, catalog, how, PROCESSES)
    assert (again.written, again.unchanged) == (0, len(PROCESSES))
    for process in PROCESSES:
        assert catalog.read_process("azure_synapse_operation", process.qualified_name)


def test_one_that_was_stopped_is_taken_up() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    backfill(storage, catalog, Publishing(), PROCESSES[:2])
    rest = backfill(storage, catalog, Publishing(), PROCESSES)
    assert (rest.written, rest.unchanged) == (len(PROCESSES) - 2, 2)


def test_it_waits_for_whoever_publishes() -> None:
    storage, catalog = MemoryStorage(), MemoryCatalog()
    lease = storage.lease("publisher", 60)
    assert lease
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        lease.release()

    done: Published = backfill(storage, catalog, Publishing(), PROCESSES[:1], wait=wait)
    assert done.written == 1
    assert len(waited) == 1
