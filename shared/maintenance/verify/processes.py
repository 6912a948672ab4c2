"""Checks of processes: the publish queue, the ledger and the catalog against one another."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from shared.atlas.entities import ProcessEntity
from shared.catalog.port import AssetKey, HeldProcess, Node, batches
from shared.errors import ContentLost, WriteConflict
from shared.maintenance.verify.findings import CHANGED, Inconsistency, Kind, VerifyContext
from shared.publishing.context import remove_unlinked, turn
from shared.publishing.headers import Headers
from shared.publishing.planning import InFlight, Plan, Planner, ProcessRows, current, read_process, read_processes
from shared.publishing.resolution import resolved_entity
from shared.records.assets import read_assets
from shared.records.digest_set import combined_digest, short
from shared.records.ledger import LedgerEntry, ledger_entry, put_entry
from shared.records.publish_queue import QueueEntry, enqueue, read_queue
from shared.records.states import LedgerState
from shared.storage_layout import process_key


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedProcess:
    """A process as it should be (`plan`), as the ledger has it (`plan.entry`) and as the catalog holds it (`held`);
    `queued`: its entry in the publish queue; `is_due`: the publisher publishes it anyway.
    """

    plan: Plan
    queued: QueueEntry | None = None
    is_due: bool = False
    held: HeldProcess | None = None

    @property
    def entry(self) -> LedgerEntry:
        """What the ledger has."""
        return self.plan.entry

    @property
    def name(self) -> str:
        """Its qualified name, as far as that is known."""
        return self.entry.qualified_name or (self.plan.entity.qualified_name if self.plan.entity else "")

    def outdated(
        self, context: VerifyContext, description: str, corrected: LedgerEntry | None = None
    ) -> Iterator[Inconsistency]:
        """This is wrong with it, and what the ledger should have instead."""
        yield Inconsistency(
            kind=Kind.PROCESS,
            subject=f"process {self.name or self.entry.process}",
            description=description,
            repair=partial(_publish_again, context, corrected or self.entry),
        )


def check_processes(context: VerifyContext) -> Iterator[Inconsistency]:
    """Every process on record; one call to the catalog for each batch."""
    for batch in context.stoppable(batches(read_processes(context.storage), context.publishing.batch)):
        for process in context.subjects("processes", _planned(context, batch)):
            yield from _unpublished(context, process)
            yield from _changed(context, process)


def _planned(context: VerifyContext, batch: Sequence[ProcessRows]) -> list[PlannedProcess]:
    storage, options, survey = context.storage, context.publishing, context.survey
    queue = {entry.target: entry for entry in read_queue(storage).entries}
    planner = Planner(context=context, headers=Headers(context=context))
    planned: list[PlannedProcess] = []
    for rows in batch:
        with suppress(ContentLost, InFlight):
            plan = planner.plan(QueueEntry(target=rows.key), rows)
            assets = read_assets(storage, (asset.key for asset in plan.assets))
            entity = None
            if plan.process:
                entity = resolved_entity(plan.process, assets, with_indirect=options.with_indirect)
            queued = queue.get(rows.key)
            is_due = _is_due(context, queued)
            planned.append(PlannedProcess(plan=replace(plan, entity=entity), queued=queued, is_due=is_due))
    held_processes = context.catalog.read_processes([process.name for process in planned if process.name])
    for process in planned:
        if process.entry.state is not LedgerState.NOTHING:
            survey.written.add(short(process.entry.process))
        entity = process.plan.entity
        for asset in (*entity.inputs, *entity.outputs) if entity else ():
            survey.used.add(combined_digest(*asset))
    return [replace(process, held=held_processes.get(process.name)) for process in planned]


def _is_due(context: VerifyContext, queued: QueueEntry | None) -> bool:
    """Whether it is to be published now, not only once time may have changed it."""
    return queued is not None and (not queued.revisit or queued.due <= context.publishing.now())


def _unpublished(context: VerifyContext, process: PlannedProcess) -> Iterator[Inconsistency]:
    plan, entry = process.plan, process.entry
    if entry.state is LedgerState.WRITING:
        until = entry.landing.until
        if context.publishing.now() - until >= context.grace and not process.is_due:
            description = f"was being written until {until:%Y-%m-%d %H:%M:%S}, and no end is recorded"
            yield from process.outdated(context, description)
    elif process.held and not entry.etag:
        if plan.entity and not process.is_due:
            yield from process.outdated(context, "is in the catalog, but not in the ledger")
    elif (description := _why_queued(process)) and not process.is_due:
        queued = next(
            (queue_entry for queue_entry in read_queue(context.storage).entries if queue_entry.target == entry.process),
            None,
        )
        if not _is_due(context, queued) and ledger_entry(context.storage, entry.process) == entry:
            yield from process.outdated(context, f"{description}, and is not in the publish queue")


def _why_queued(process: PlannedProcess) -> str:
    """Why a process should be in the publish queue, if it should."""
    plan = process.plan
    if plan.unchanged:
        is_later = plan.revisit and not process.queued
        return f"is to be looked at again at {plan.revisit:%Y-%m-%d %H:%M}" if is_later else ""
    if plan.entity is None:
        return "has no contributions any more, but is in the catalog"
    is_written = process.entry.state is LedgerState.WRITTEN
    return "differs from what was last written" if is_written else "was never written"


def _changed(context: VerifyContext, process: PlannedProcess) -> Iterator[Inconsistency]:
    plan, entry, held_process = process.plan, process.entry, process.held
    if entry.state is not LedgerState.WRITTEN:
        return
    if held_process is None:
        corrected = replace(entry, state=LedgerState.NOTHING, fingerprint="", guid="")
        description = "was written, but the catalog has no such process"
        yield from process.outdated(context, description, corrected)
        return
    differences: list[str] = []
    corrected = replace(entry, guid=held_process.guid)
    if held_process.guid != entry.guid:
        differences.append(f"has the guid {held_process.guid} in the catalog, and {entry.guid or 'none'} in the ledger")
    if plan.entity and plan.unchanged and (parts := _differences(held_process.entity, plan.entity)):
        differences.append(f"was changed in the catalog: {', '.join(parts)}")
        corrected = replace(corrected, fingerprint="")
    if differences:
        yield from process.outdated(context, "; ".join(differences), corrected)


def _differences(held_process_entity: ProcessEntity, planned: ProcessEntity) -> list[str]:
    """The parts of lineage that differ; names and descriptions may be changed in the catalog."""
    sides = [name for name in ("inputs", "outputs") if getattr(held_process_entity, name) != getattr(planned, name)]
    columns = [dict(entity.attributes).get("columnMapping", "") for entity in (held_process_entity, planned)]
    return sides + (["columnMapping"] if columns[0] != columns[1] else [])


def _publish_again(context: VerifyContext, corrected: LedgerEntry) -> str:
    """Publish a process again, with its ledger entry `corrected` unless that has changed since it was read."""
    storage = context.storage
    if ledger_entry(storage, corrected.process) != corrected and put_entry(storage, corrected) is None:
        return CHANGED
    enqueue(storage, [corrected.process])
    return ""


def check_catalog(context: VerifyContext) -> Iterator[Inconsistency]:
    """The processes of Throughline in the catalog."""
    for node in _nodes(context, "processes in the catalog", processes=True):
        name, key = node.qualified_name, process_key(node.qualified_name)
        if not context.survey.written.meet(short(key)):
            with suppress(ContentLost):
                yield from _orphan(context, node, read_process(context.storage, key), name)


def _orphan(context: VerifyContext, node: Node, rows: ProcessRows, name: str) -> Iterator[Inconsistency]:
    entry = rows.entry
    is_recorded = current(context.storage, rows, context.publishing)[0].process is not None
    if entry.state is LedgerState.NOTHING and not is_recorded and name in context.catalog.read_processes([name]):
        corrected = replace(
            entry, state=LedgerState.WRITTEN, qualified_name=name, guid=node.guid, fingerprint="", retired=None
        )
        yield Inconsistency(
            kind=Kind.PROCESS,
            subject=f"process {name}",
            description="is in the catalog, and has no contributions",
            repair=partial(_publish_again, context, corrected),
        )


def check_placeholders(context: VerifyContext) -> Iterator[Inconsistency]:
    """The placeholders of Throughline in the catalog. One that a contract promises waits for its first run."""
    for node in _nodes(context, "placeholders", processes=False):
        key = (node.type, node.qualified_name)
        if not context.survey.used.meet(combined_digest(*key)):
            placeholder = context.catalog.placeholders([key]).get(key)
            is_promised = any(record.promise for record in read_assets(context.storage, [key]).values())
            if placeholder and not placeholder.links and not is_promised:
                yield Inconsistency(
                    kind=Kind.PLACEHOLDER,
                    subject=" ".join(key),
                    description="is a placeholder that no process uses",
                    repair=partial(_delete_placeholder, context, key),
                )


def _delete_placeholder(context: VerifyContext, key: AssetKey) -> str:
    """Delete a placeholder under the publisher's lease: a publisher creates assets before processes that use them."""
    if context.publishing.shadow:
        return "shadow mode leaves the catalog as it is"
    try:
        with turn(context, tries=0):
            return CHANGED if remove_unlinked(context, [key]).kept else ""
    except WriteConflict:
        return CHANGED


def _nodes(context: VerifyContext, task_name: str, *, processes: bool) -> Iterator[Node]:
    """All of ours before any is removed, since the catalog's search answers page by page."""
    own_nodes = [node for node in context.catalog.ours() if node.is_process is processes]
    return context.subjects(task_name, own_nodes)
