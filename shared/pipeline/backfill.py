"""Filling a catalog from lineage that was made elsewhere: a catalog that was lost, or that never had what happened.

It keeps the rules of publishing: one writer under the publisher's lease, the ledger says what is written, and what is
there already is not sent. So it may be stopped and begun again, and the publisher goes on beside it.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from shared.atlas import ProcessEntity, asset_entity, process_entity
from shared.catalog import Catalog
from shared.errors import CatalogRefused
from shared.model import Asset, Process
from shared.pipeline.ledger import Entry, ledger_entry, note
from shared.pipeline.ours import batches, turn
from shared.pipeline.places import process_key
from shared.pipeline.planning import Publishing
from shared.pipeline.states import Held
from shared.pipeline.writing import Published
from shared.storage import Storage
from shared.translation import shown


def backfill(
    storage: Storage,
    catalog: Catalog,
    how: Publishing,
    processes: Iterable[Process],
    *,
    note_done: Callable[[Published], None] = lambda _: None,
    wait: Callable[[float], None] = time.sleep,
) -> Published:
    """Write these processes as far as the catalog does not hold them: counts of what was done, told after each too.

    Raises Contended when another writes all the time, CatalogUnavailable and StorageUnavailable: what was written
    until then is on record, begin again. A process that the catalog refuses is counted, and the others go on.
    """
    done = Published()
    for batch in batches(processes, how.batch):
        with turn(storage, wait=wait):
            _fill(storage, catalog, how, batch, done)
        note_done(done)
    return done


def _fill(storage: Storage, catalog: Catalog, how: Publishing, batch: Sequence[Process], done: Published) -> None:
    wanted: list[tuple[Process, ProcessEntity, Entry]] = []
    for process in (shown(each, how.paths) for each in batch):
        if process is None:
            continue
        entity = process_entity(process, with_indirect=how.with_indirect)
        entry = ledger_entry(storage, process_key(process.qualified_name))
        if entry.may_still_land(how.now()):
            done.postponed += 1
        elif entry.state == Held.WRITTEN and entry.fingerprint == entity.fingerprint:
            done.unchanged += 1
        else:
            wanted.append((process, entity, entry))
    if not wanted:
        return
    try:
        done.written += _write(storage, catalog, how, wanted)
    except CatalogRefused as error:
        if len(wanted) == 1:
            done.refused += 1
            done.error = str(error)
            return
        for process, _, _ in wanted:
            _fill(storage, catalog, how, [process], done)


def _write(
    storage: Storage, catalog: Catalog, how: Publishing, wanted: Sequence[tuple[Process, ProcessEntity, Entry]]
) -> int:
    guids = _assets(catalog, how, [process for process, _, _ in wanted])
    until = how.now() + 2 * how.call_bound
    begun = [
        (entity, before, entry)
        for _, entity, before in wanted
        if (
            entry := note(
                storage,
                replace(
                    before,
                    state=Held.WRITING,
                    qualified_name=entity.qualified_name,
                    fingerprint=entity.fingerprint,
                    until=until,
                ),
            )
        )
    ]
    if not begun:
        return 0
    try:
        written = catalog.write_processes([entity for entity, _, _ in begun], guids)
    except CatalogRefused:
        for _, before, entry in begun:  # a refused call writes nothing
            note(storage, replace(before, etag=entry.etag))
        raise
    for entity, _, entry in begun:
        note(storage, replace(entry, state=Held.WRITTEN, guid=written[entity.qualified_name]))
    return len(begun)


def _assets(catalog: Catalog, how: Publishing, processes: Sequence[Process]) -> dict[tuple[str, str], str]:
    known: dict[tuple[str, str], Asset] = {
        (asset.type, asset.qualified_name): asset for each in processes for asset in (*each.inputs, *each.outputs)
    }
    guids = catalog.find(sorted(known))
    for chunk in _chunks([key for key in sorted(known) if key not in guids], how.batch):
        guids |= catalog.create_assets([asset_entity(known[key]) for key in chunk])
    return guids


def _chunks(keys: Sequence[tuple[str, str]], size: int) -> Iterator[Sequence[tuple[str, str]]]:
    for start in range(0, len(keys), size):
        yield keys[start : start + size]
