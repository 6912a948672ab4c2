"""Write plans to the catalog: resolve their assets, then send them in as few calls as the catalog accepts.

A refused call is bisected. The answer is read, not assumed: Atlas accepts all of a call or nothing, others may answer
with a part. A 500 can be caused by one entity as well; when both halves of a call get it, the catalog is unavailable.
A 404 on something that was referred to makes remembered asset matches be checked first.

The ledger says *writing* before a call, *written* after it. Each step is conditional on the rows that were read: a
publisher that lost its lease cannot write outdated lineage.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from msgspec import structs

from shared.catalog.port import AssetKey
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.model import Process
from shared.publishing.context import PublishContext
from shared.publishing.outcomes import Outcome, Outcomes, Refusal
from shared.publishing.placeholders import (
    CALLS_TO_PLACE,
    Description,
    describe,
    note_writes,
    place,
    report_columns,
    schema_digest,
)
from shared.publishing.planning import Plan, execute, last_run
from shared.publishing.resolution import resolve, resolved_entity
from shared.records.asset_record import AssetRecord
from shared.records.ledger import LedgerEntry, put_entry
from shared.records.publish_queue import QueueEntry
from shared.records.states import LedgerState
from shared.records.waits import NEVER
from shared.storage_layout import asset_key

_HALVES = 2
_TAKEN = 200
_NOT_FOUND = 404
_UNKNOWN = "unknown"
"""In place of the digest of what a process reports of columns, while the records of data sets are written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogWriter:
    """Writes and removes processes; `outcomes` ends their queue entries."""

    context: PublishContext
    outcomes: Outcomes
    records: dict[AssetKey, AssetRecord] = field(default_factory=dict)

    def write_batch(self, plans: Sequence[Plan]) -> list[Refusal]:
        """Write these plans. Return those that the catalog refused in a call of their own.

        What it refused as a whole is sent again in halves, what it refused in part in one call. Raises CatalogRefused
        without access, and CatalogUnavailable, also where both halves of a call get a 500.
        """
        self.records.clear()
        isolated: list[Refusal] = []
        pending: deque[list[Sequence[Plan]]] = deque([[plans]])
        while pending:
            calls, errors = pending.popleft(), list[Exception]()
            are_all_refused = len(calls) == _HALVES or (len(plans) == 1 and not plans[0].queue_entry.isolated)
            for call in calls:
                refused = self._write(call)
                isolated += [refusal for refusal in refused if refusal.isolated]
                errors += [refusal.error for refusal in refused]
                repeated_plans = [refusal.plan for refusal in refused if not refusal.isolated]
                middle = (len(repeated_plans) + 1) // 2
                if len(refused) < len(call):
                    are_all_refused = False
                    pending.extend([[repeated_plans]] if repeated_plans else [])
                elif len(repeated_plans) > 1:
                    pending.append([repeated_plans[:middle], repeated_plans[middle:]])
            if are_all_refused and all(isinstance(error, CatalogUnavailable) for error in errors):
                raise errors[0]
        return isolated

    def _write(self, plans: Sequence[Plan]) -> list[Refusal]:
        """Write these plans in one call; missing data sets are created first.

        Returns what the catalog refused, answered with 500, or left out of its answer; the rest was written, or is
        another publisher's. Raises CatalogRefused without access, and CatalogUnavailable.
        """
        self.context.publishing.heartbeat()
        try:
            resolved_plans = self._resolved(plans)
        except CatalogRefused as error:
            if error.no_access:
                raise
            return [Refusal(plan=plan, error=error, isolated=len(plans) == 1) for plan in plans]
        refused: list[Refusal] = []
        for plan in resolved_plans:
            if plan.entity is None and plan.entry.state is LedgerState.NOTHING:
                self.keep([plan])
            elif plan.entity is None:
                refused += self.remove(plan)
        begun_plans = self._begin([plan for plan in resolved_plans if plan.entity])
        try:
            refused += self._send(begun_plans) if begun_plans else []
        except (CatalogRefused, CatalogUnavailable) as error:
            refused += self._requeue(begun_plans, error, number_sent=len(begun_plans))
            if error.is_general or not error.over:
                raise
        if any(_is_missing(refusal.error) for refusal in refused) and self._expire_stale():
            self.records.clear()
            return self._write([refusal.plan for refusal in refused])
        return refused

    def _resolved(self, plans: Sequence[Plan]) -> list[Plan]:
        """The plans with the entities to send: on resolved assets, with facts of the last run; without one where inputs
        and outputs match one asset.
        """
        assets = dict.fromkeys(asset for plan in plans for asset in plan.assets if asset.key not in self.records)
        self.records.update(resolve(self.context, assets))
        return [self._named(plan, plan.process) for plan in plans if plan.process]

    def _named(self, plan: Plan, process: Process) -> Plan:
        entity = resolved_entity(process, self.records, with_indirect=self.context.publishing.with_indirect)
        return replace(plan, entity=replace(entity, facts=last_run(self.context, plan)) if entity else None)

    def _expire_stale(self) -> bool:
        """Expire remembered matches that the catalog lacks or has under another guid: deleted, or another catalog.
        Whether there were any.
        """
        rows, storage = self.context.assets, self.context.storage
        records = [record for record in rows.read(storage, self.records).values() if record.guid]
        catalog_nodes = self.context.catalog.look_up([record.key for record in records])
        stale = [
            record
            for record in records
            if record.key not in catalog_nodes or catalog_nodes[record.key].guid != record.guid
        ]
        for record in stale:
            rows.put(structs.replace(record, at=NEVER))
        return bool(stale)

    def _begin(self, plans: Sequence[Plan]) -> list[Plan]:
        """Have the ledger say that these plans are being written; those that others have changed are left."""
        entities = [plan.entity for plan in plans if plan.entity]
        bound = self.context.after(CALLS_TO_PLACE + self.context.catalog.calls_to_write(entities))
        now = self.context.publishing.now()
        return self._execute(
            [
                (
                    plan,
                    replace(
                        plan.entry,
                        state=LedgerState.WRITING,
                        because="",
                        imported=plan.imported,
                        qualified_name=plan.name,
                        fingerprint=plan.fingerprint,
                        assets=plan.entry.assets | {asset_key(asset.key) for asset in plan.assets},
                        landing=plan.entry.landing.begun(now, bound),
                    ),
                )
                for plan in plans
            ]
        )

    def _execute(self, plans: Sequence[tuple[Plan, LedgerEntry | None]]) -> list[Plan]:
        """Write the parts of these plans with their ledger entries; plans that others have changed are left out."""
        storage = self.context.storage
        results = list(self.context.publishing.parallel.each(lambda item: execute(storage, *item), plans))
        for (plan, _), result in zip(plans, results, strict=True):
            if result is None:
                self.outcomes.report(plan, "overtaken")
        return [plan for plan in results if plan]

    def _send(self, begun_plans: Sequence[Plan]) -> list[Refusal]:
        """Call the catalog, and note its answer for each plan."""
        context, catalog = self.context, self.context.catalog
        lands = min(plan.entry.landing.lands for plan in begun_plans)
        touched_columns = frozenset(key for plan in begun_plans for key in report_columns(context, plan))
        guids = place(context, [asset for plan in begun_plans for asset in plan.assets], lands=lands)
        ready_plans = [
            plan for plan in begun_plans if plan.entity and guids.keys() >= {*plan.entity.inputs, *plan.entity.outputs}
        ]
        entities = [plan.entity for plan in ready_plans if plan.entity]
        if not context.is_in_time(lands, catalog.calls_to_write(entities)):
            return []  # the call might not be over by then: these are planned again after that
        written_processes = catalog.write_processes(entities, guids) if ready_plans else {}
        taken_plans = [
            (plan, self._taken(plan, guid))
            for plan in ready_plans
            if (guid := written_processes.get(plan.entry.qualified_name))
        ]
        description = self._described(touched_columns)
        self._end(self._execute(taken_plans), "written", description)
        remaining_plans = [plan for plan in begun_plans if not written_processes.get(plan.entry.qualified_name)]
        error = CatalogRefused(status=_TAKEN, code="", detail="given no guid")
        return self._requeue(remaining_plans, error, number_sent=len(begun_plans))

    def _taken(self, plan: Plan, guid: str) -> LedgerEntry:
        """The ledger entry of a plan that the catalog has taken."""
        return replace(
            plan.entry,
            state=LedgerState.WRITTEN,
            guid=guid,
            schemas=schema_digest(plan.process),
            assets=frozenset(asset_key(asset.key) for asset in plan.assets),
            landing=self.context.landed(plan.entry.landing),
        )

    def _described(self, touched_columns: Iterable[str]) -> Description:
        """Describe the placeholders whose columns were touched, and note how that went."""
        description = describe(self.context, touched_columns)
        self.outcomes.note(description)
        return description

    def _end(self, plans: Sequence[Plan], state: str, description: Description) -> None:
        """End plans in this state, whose placeholders are described.

        Raises CatalogUnavailable, and CatalogRefused without access, where these could not be described.
        """
        self.outcomes.finish_plans(plans, state)
        if description.unavailable:
            raise description.unavailable

    def describe(self, entries: Sequence[QueueEntry]) -> None:
        """Describe the placeholders of these data sets, where they do not show what they should. Raises as `_end`."""
        description = self._described([entry.key for entry in entries])
        self.outcomes.published.written += description.written
        open_keys = {*description.later, *description.errors, *description.untried}
        self.outcomes.finish([Outcome.of(entry) for entry in entries if entry.key not in open_keys])
        if description.unavailable:
            raise description.unavailable

    def _requeue(
        self, begun_plans: Sequence[Plan], error: CatalogRefused | CatalogUnavailable, *, number_sent: int
    ) -> list[Refusal]:
        """Prepare what was not written in a call of `number_sent` plans for the next one. Of all but new processes
        without access the state is unknown (one that was there may have been deleted to be recreated), so the ledger
        keeps saying *writing*; nobody waits for it unless there was no answer.
        """
        context, entries = self.context, []
        for plan in begun_plans:
            is_new = error.no_access and not (plan.entry.guid or plan.was_interrupted or plan.was_sent)
            state = LedgerState.NOTHING if is_new else LedgerState.WRITING
            entries.append(replace(plan.entry, state=state, landing=context.landed(plan.entry.landing, error)))
        written_entries = context.publishing.parallel.each(partial(put_entry, context.storage), entries)
        return [
            Refusal(plan=replace(plan, entry=entry, was_sent=True), error=error, isolated=number_sent == 1)
            for plan, entry in zip(begun_plans, written_entries, strict=True)
            if entry
        ]

    def keep(self, plans: Sequence[Plan]) -> None:
        """End plans that change nothing in the catalog: write their parts, and what their processes report of columns.
        Where others are reported, the ledger says so first: a process that soon reports its former ones is unchanged.

        Raises CatalogRefused without access, and CatalogUnavailable, where placeholders are to be described.
        """
        for plan in plans:
            note_writes(self.context, plan)
        unknown = [(plan, replace(plan.entry, schemas=_UNKNOWN) if kept_entry(plan) else None) for plan in plans]
        begun_plans = [(plan, kept_entry(plan)) for plan in self._execute(unknown)]
        touched_columns = [key for plan, entry in begun_plans if entry for key in report_columns(self.context, plan)]
        description = self._described(touched_columns)
        self._end(self._execute(begun_plans), "unchanged", description)

    def remove(self, plan: Plan) -> list[Refusal]:
        """Remove a process that no run supports any more. Returns the refusal, if the catalog refused.

        Raises CatalogRefused without access, and CatalogUnavailable.
        """
        context, outcomes = self.context, self.outcomes
        landing = plan.entry.landing.begun(context.publishing.now(), context.after(2))
        begun_plan = execute(context.storage, plan, replace(plan.entry, state=LedgerState.WRITING, landing=landing))
        if begun_plan is None or not context.is_in_time(landing.lands):
            outcomes.report(plan, "overtaken")
            return []
        try:
            context.catalog.delete_process(begun_plan.entry.qualified_name)
        except CatalogRefused as error:
            if error.no_access:
                raise
            return [Refusal(plan=begun_plan, error=error, isolated=True)]
        entry = begun_plan.entry.removed(context.landed(landing))
        gone_plan = replace(begun_plan, process=None)
        description = self._described(report_columns(context, gone_plan))
        self._end(self._execute([(gone_plan, entry)]), "removed", description)
        return []


def kept_entry(plan: Plan) -> LedgerEntry | None:
    """The ledger entry of an unchanged plan, if its process reports other columns than when it was written, or none any
    more, where it was never written since the catalog gave no access; else None.
    """
    entry = plan.entry
    if plan.process is None:
        is_changed = entry.state is LedgerState.NOTHING and bool(entry.assets)
    else:
        is_written = plan.entity is not None and entry.state is LedgerState.WRITTEN
        is_changed = is_written and (schema_digest(plan.process) != entry.schemas or entry.imported)
    assets = entry.assets if plan.process else frozenset[str]()
    return replace(entry, assets=assets, schemas=schema_digest(plan.process), imported=False) if is_changed else None


def _is_missing(error: Exception) -> bool:
    """Whether something that was referred to is not there."""
    return isinstance(error, CatalogRefused) and error.status == _NOT_FOUND
