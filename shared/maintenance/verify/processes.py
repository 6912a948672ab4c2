"""Checks of processes: contributions, publish queue, ledger and catalog against one another."""

import heapq
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import groupby

from shared.atlas.entities import ProcessEntity
from shared.catalog.batches import batches
from shared.catalog.port import HeldProcess, Node
from shared.errors import ContentLost
from shared.maintenance.verify.checks import CheckStage, Inconsistency, RepairVerb, VerifyContext, check
from shared.maintenance.verify.repairs import delete_placeholder, publish_again
from shared.publishing.placeholders.creation import with_resolved_names
from shared.publishing.planning.planner import Plan, Reading, plan_for
from shared.records.asset_matches import read_matches
from shared.records.digest_set import combined_digest, short
from shared.records.ledger import LedgerEntry, ledger_entry
from shared.records.publish_queue import QueueEntry, queue_entries, queue_entry
from shared.records.states import LedgerState
from shared.reporting.run_outcomes import counted
from shared.storage_layout import CONTRIBUTIONS, LEDGER, process_key


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

    def found(
        self, context: VerifyContext, description: str, corrected: LedgerEntry | None = None
    ) -> Iterator[Inconsistency]:
        """This is wrong with it, and what the ledger should have instead."""
        repair = partial(publish_again, context, corrected or self.entry)
        yield Inconsistency(
            subject=f"process {self.name or self.entry.process}", description=description, repair=repair
        )


def _is_due(context: VerifyContext, queued: QueueEntry | None) -> bool:
    """Whether it is to be published now, not only once time may have changed it."""
    return queued is not None and (not queued.revisit or queued.due <= context.publishing.now())


@check("unpublished process", RepairVerb.PUBLISH)
def unpublished_processes(context: VerifyContext, process: PlannedProcess) -> Iterator[Inconsistency]:
    """A process that is missing in the publish queue, or whose write was interrupted or not recorded."""
    plan, entry = process.plan, process.entry
    if entry.state is LedgerState.WRITING:
        if context.publishing.now() - entry.until >= context.grace:
            description = f"was being written until {entry.until:%Y-%m-%d %H:%M:%S}, and no end is recorded"
            yield from process.found(context, description)
    elif process.held and not entry.etag:
        if plan.entity and not process.is_due:
            yield from process.found(context, "is in the catalog, but not in the ledger")
    elif (description := _why_queued(process)) and not process.is_due:
        is_due = _is_due(context, queue_entry(context.storage, entry.process))
        if not is_due and ledger_entry(context.storage, entry.process) == entry:
            yield from process.found(context, f"{description}, and is not in the publish queue")


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


@check("changed process", RepairVerb.PUBLISH)
def changed_processes(context: VerifyContext, process: PlannedProcess) -> Iterator[Inconsistency]:
    """A process that was deleted, recreated or changed in the catalog: its inputs, outputs or columns."""
    plan, entry, held = process.plan, process.entry, process.held
    if entry.state is not LedgerState.WRITTEN:
        return
    if held is None:
        corrected = replace(entry, state=LedgerState.NOTHING, fingerprint="", guid="")
        yield from process.found(context, "was written, but the catalog has no such process", corrected)
        return
    found: list[str] = []
    corrected = replace(entry, guid=held.guid)
    if held.guid != entry.guid:
        found.append(f"has the guid {held.guid} in the catalog, and {entry.guid or 'none'} in the ledger")
    if plan.entity and plan.unchanged and (differences := _differences(held.entity, plan.entity)):
        found.append(f"was changed in the catalog: {', '.join(differences)}")
        corrected = replace(corrected, fingerprint="")
    if found:
        yield from process.found(context, "; ".join(found), corrected)


def _differences(held: ProcessEntity, planned: ProcessEntity) -> list[str]:
    """The parts of lineage that differ; names and descriptions may be changed in the catalog."""
    sides = [name for name in ("inputs", "outputs") if getattr(held, name) != getattr(planned, name)]
    columns = [dict(each.attributes).get("columnMapping", "") for each in (held, planned)]
    return sides + (["columnMapping"] if columns[0] != columns[1] else [])


@check("orphan process", RepairVerb.PUBLISH)
def orphan_processes(context: VerifyContext, node: Node) -> Iterator[Inconsistency]:
    """A process of Throughline in the catalog that has no contributions."""
    name, storage = node.qualified_name, context.storage
    if context.survey.written.meet(short(process_key(name))):
        return
    entry = ledger_entry(storage, process_key(name))
    with suppress(ContentLost):  # found among the contributions
        if (
            entry.state is not LedgerState.NOTHING
            or Reading(storage=storage, options=context.publishing).current(entry.process).process
        ):
            return
        if name in context.catalog.read_processes([name]):
            corrected = replace(
                entry, state=LedgerState.WRITTEN, qualified_name=name, guid=node.guid, fingerprint="", retired=None
            )
            yield Inconsistency(
                subject=f"process {name}",
                description="is in the catalog, and has no contributions",
                repair=partial(publish_again, context, corrected),
            )


@check("unused placeholder", RepairVerb.DELETE)
def unused_placeholders(context: VerifyContext, node: Node) -> Iterator[Inconsistency]:
    """A placeholder of Throughline that nothing is linked to."""
    key = (node.type, node.qualified_name)
    if context.survey.used.meet(combined_digest(*key)):
        return
    placeholder = context.catalog.placeholders([key]).get(key)
    if placeholder and not placeholder.links:
        yield Inconsistency(
            subject=f"{node.type} {node.qualified_name}",
            description="is a placeholder that no process uses",
            repair=partial(delete_placeholder, context, key),
        )


def _processes(context: VerifyContext) -> Iterator[PlannedProcess]:
    """Every process with contributions or a ledger entry; one call to the catalog for each batch."""
    storage = context.storage
    contributed = (row.partition for row in storage.scan(CONTRIBUTIONS))
    written = (row.partition for row in storage.scan(LEDGER))
    keys = (key for key, _ in groupby(heapq.merge(contributed, written)))
    for batch in batches(keys, context.publishing.batch):
        yield from counted(context.progress, "processes", _planned(context, batch))


def _planned(context: VerifyContext, keys: Sequence[str]) -> list[PlannedProcess]:
    queue = {each.process: each for each in queue_entries(context.storage)[0]}
    now, reading = datetime.now(UTC), Reading(storage=context.storage, options=context.publishing)
    planned = []
    for key in keys:
        with suppress(ContentLost):  # found among the contributions; until it is repaired there is no plan
            plan = plan_for(reading, QueueEntry(process=key, due=now))
            matches = read_matches(context.storage, {(asset.type, asset.qualified_name): None for asset in plan.assets})
            plan = with_resolved_names(plan, matches, context.publishing)
            queued = queue.get(key)
            planned.append(PlannedProcess(plan=plan, queued=queued, is_due=_is_due(context, queued)))
    held = context.catalog.read_processes([each.name for each in planned if each.name])
    for each in planned:
        if each.entry.state is not LedgerState.NOTHING:
            context.survey.written.add(short(each.entry.process))
        for asset in (*each.plan.entity.inputs, *each.plan.entity.outputs) if each.plan.entity else ():
            context.survey.used.add(combined_digest(*asset))
    return [replace(each, held=held.get(each.name)) for each in planned]


def _nodes(context: VerifyContext, what: str, *, processes: bool) -> Iterator[Node]:
    """All of ours before any is removed, since the catalog's search answers page by page."""
    ours = [node for node in context.catalog.ours() if node.is_process is processes]
    return counted(context.progress, what, ours)


PROCESSES = CheckStage(
    read=_processes,
    checks=(unpublished_processes, changed_processes),
    after_publishing=True,
)
CATALOG_PROCESSES = CheckStage(
    read=lambda context: _nodes(context, "processes in the catalog", processes=True), checks=(orphan_processes,)
)
PLACEHOLDERS = CheckStage(
    read=lambda context: _nodes(context, "placeholders", processes=False),
    checks=(unused_placeholders,),
    after_publishing=True,
)
