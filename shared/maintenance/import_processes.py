"""Import processes that were computed elsewhere (the lake) into a catalog.

The publisher's writer does the work, under the publisher's lease: the ledger records what is written, unchanged
processes are not sent. So it may be stopped and started again, while the publisher works.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from shared.atlas.entities import process_entity
from shared.catalog.port import batches
from shared.model import Process
from shared.publishing.context import PublishContext, Published
from shared.publishing.planning import Plan
from shared.publishing.publisher_lease import turn
from shared.publishing.settling import Settler, error_text
from shared.publishing.writing import CatalogWriter
from shared.records.ledger import ledger_entry
from shared.records.publish_queue import QueueEntry
from shared.storage_layout import process_key
from shared.translation.path_filter import published, with_excluded


def import_processes(
    context: PublishContext,
    processes: Iterable[Process],
    *,
    note: Callable[[Published], None] = lambda _: None,
    wait: Callable[[float], None] = time.sleep,
) -> Published:
    """Write those of these processes that the catalog does not hold; returns counts, reported after each batch too.

    Raises WriteConflict when another publisher never ends, CatalogUnavailable and StorageUnavailable: what was written
    is on record, so call it again. Refused processes, and those that bring about a 500 in a call of their own, are
    counted, and do not stop others. Shadow mode writes nothing.
    """
    published, options = Published(), context.publishing
    if options.shadow:
        return published
    for batch in batches(processes, options.batch):
        with turn(context, wait=wait) as session:
            holding = replace(options, heartbeat=session.may_continue)
            _import_batch(replace(context, publishing=holding), batch, published)
        note(published)
    return published


def _import_batch(context: PublishContext, batch: Sequence[Process], published: Published) -> None:
    """Write these processes in as few calls as the catalog accepts."""
    plans: list[Plan] = []
    for process in batch:
        plan = _plan(context, process)
        if plan is None:
            continue
        if plan.entry.landing.is_open(context.publishing.now()):
            published.postponed += 1
        elif plan.unchanged:
            published.unchanged += 1
        else:
            plans.append(plan)
    writer = CatalogWriter(context=context, settler=Settler(context=context, published=published))
    for refusal in writer.write_batch(plans):
        published.refused += 1
        published.error = error_text(refusal.error)
    context.assets.flush(context.storage)


def _plan(context: PublishContext, process: Process) -> Plan | None:
    """A publisher's plan without an entry in the publish queue; None where none of its data sets is published."""
    shown_process = published(with_excluded(process, context.publishing.paths))
    if shown_process is None:
        return None
    entity = process_entity(shown_process, with_indirect=context.publishing.with_indirect)
    key = process_key(shown_process.qualified_name)
    return Plan(
        queue_entry=QueueEntry(target=key, isolated=True),  # alone it may fail without ending the import
        entry=ledger_entry(context.storage, key),
        entity=entity,
        process=shown_process,
        unresolved_fingerprint=entity.fingerprint,
        imported=True,
    )
