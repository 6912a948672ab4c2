"""One write to the catalog, from claiming queue entries to updating the ledger; and one removal.

Each step is conditional on the row that was read: a publisher that lost its lease cannot write outdated lineage.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from shared.atlas.entities import ProcessEntity
from shared.catalog.port import AssetKey
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.publishing.placeholders.columns import reported_keys, schema_digest, update_column_sources
from shared.publishing.placeholders.creation import describe_again, place
from shared.publishing.planning.context import PublishContext
from shared.publishing.planning.planner import Plan
from shared.publishing.planning.process_telemetry import report_process
from shared.publishing.planning.write_deadline import (
    is_in_time,
    last_effect,
    last_effect_of_success,
    remove_until,
    write_until,
)
from shared.records.asset_matches import AssetMatch
from shared.records.ledger import LedgerEntry, put_entry
from shared.records.publish_queue import dequeue, put_queued
from shared.records.states import LedgerState
from shared.storage.port import Storage

_TAKEN = 200
_NAMED = 100


@dataclass(slots=True, kw_only=True)
class Published:
    """Counts of processes that one or several drains published; `error`: why the last one stopped early. `changes`: the
    qualified names of the first that were written (`+`) and removed (`-`), for people.
    """

    written: int = 0
    unchanged: int = 0
    removed: int = 0
    refused: int = 0
    postponed: int = 0
    held: int = 0
    error: str = ""
    changes: list[tuple[str, str]] = field(default_factory=list)

    @property
    def progress(self) -> int:
        """How many processes are done: published, refused or held back by shadow mode."""
        return self.written + self.unchanged + self.removed + self.refused + self.held

    def add(self, more: "Published") -> None:
        """Add the counts of a later drain, and take over its error."""
        for name in ("written", "unchanged", "removed", "refused", "postponed", "held"):
            setattr(self, name, getattr(self, name) + getattr(more, name))
        self.error = more.error
        for sign, process in more.changes:
            self.note(sign, process)

    def note(self, sign: str, process: str) -> None:
        """Note a change, unless many are noted: a rebuild makes hundreds of thousands."""
        if len(self.changes) < _NAMED:
            self.changes.append((sign, process))


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A plan, with its queue and ledger entries as they are now, that the catalog refused, and why; `isolated`: it was
    refused in a call of its own.
    """

    plan: Plan
    error: CatalogRefused | CatalogUnavailable
    isolated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A plan of which the ledger says that it is being written, with its claimed queue entry and that ledger entry."""

    plan: Plan
    entity: ProcessEntity
    entry: LedgerEntry


def begin(storage: Storage, plan: Plan, until: datetime) -> Begun | None:
    """Have the ledger say that a plan is being written; None when nothing is to be written, or another writes it."""
    if plan.entity is None:
        return None
    writing = replace(
        plan.entry,
        described=plan.entry.described | reported_keys(plan.process),
        state=LedgerState.WRITING,
        because="",
        imported=plan.imported,
        qualified_name=plan.entity.qualified_name,
        fingerprint=plan.entity.fingerprint,
        unresolved_fingerprint=plan.unresolved_fingerprint,
        until=until,
    )
    entry = put_entry(storage, writing)
    return Begun(plan=plan, entity=plan.entity, entry=entry) if entry else None


class CatalogWriter:
    """Writes and removes processes, and counts in `done`. Each step is conditional on the rows that the plan read."""

    def __init__(self, context: PublishContext, done: Published) -> None:
        self.context, self.done = context, done
        self._storage, self._catalog, self._options = context.storage, context.catalog, context.publishing

    def write(self, plans: Sequence[Plan], found: dict[AssetKey, AssetMatch]) -> list[Refusal]:
        """Write these plans in one call, under the names that were `found`; missing data sets are created first.

        Returns what the catalog refused, answered with 500, or left out of its answer; the rest was written, or is
        another publisher's. Raises CatalogRefused without access, and CatalogUnavailable.
        """
        refused = [each for plan in plans if plan.entity is None for each in self._nothing_left(plan)]
        until = write_until(self.context, [plan.entity for plan in plans if plan.entity])
        begun = self._begin(plans, until)
        if not begun:
            return refused
        describe_again(self._storage, [each.plan for each in begun])
        try:
            return [*refused, *self._send(begun, found)]
        except (CatalogRefused, CatalogUnavailable) as error:
            if isinstance(error, CatalogUnavailable) and not error.over:
                self._shorten_deadlines(begun)
                raise
            requeued = self._requeue(begun, error, sent=len(begun))
            if error.no_access if isinstance(error, CatalogRefused) else not error.blames:
                raise
            return [*refused, *requeued]

    def _send(self, begun: Sequence[Begun], found: dict[AssetKey, AssetMatch]) -> list[Refusal]:
        """Call the catalog, and note its answer for each plan."""
        until = min(each.entry.until for each in begun)
        there = {key for key, each in found.items() if each.guid}
        guids = place(self.context, [each.plan for each in begun], found, until=until)
        ready = [each for each in begun if guids.keys() >= {*each.entity.inputs, *each.entity.outputs}]
        entities = [each.entity for each in ready]
        if not is_in_time(self.context, until, self._catalog.calls_to_write(entities)):
            return []  # the call might not be over by then: these are planned again after that
        written = self._catalog.write_processes(entities, guids) if ready else {}
        lands = last_effect_of_success(self.context, until)
        taken = [each for each in ready if written.get(each.entity.qualified_name)]
        update_column_sources(self._storage, [each.plan for each in taken], found, placed=found.keys() - there)

        def finish(each: Begun) -> None:
            entry = replace(
                each.entry,
                state=LedgerState.WRITTEN,
                guid=written[each.entity.qualified_name],
                schemas=schema_digest(each.plan.process),
                described=reported_keys(each.plan.process),
                until=lands,
            )
            if put_entry(self._storage, entry):
                dequeue(self._storage, each.plan.queue_entry, each.plan.revisit)

        for each, _ in zip(taken, self._options.parallel.each(finish, taken), strict=True):
            report_process(self._options, each.plan, "written")
            self.done.written += 1
            self.done.note("+", each.entity.qualified_name)
        left = [each for each in begun if each.entity.qualified_name not in written]
        error = CatalogRefused(status=_TAKEN, code="", detail="given no guid")
        return self._requeue(left, error, sent=len(begun))

    def _shorten_deadlines(self, begun: Sequence[Begun]) -> None:
        """After a call without an answer: wait for that call only, since no further one of this write follows."""

        def shorten(each: Begun) -> None:
            until = last_effect(self.context, each.entry.until)
            if put_entry(self._storage, replace(each.entry, until=until)):
                put_queued(self._storage, replace(each.plan.queue_entry, due=until))

        self._options.parallel.all(shorten, begun)

    def _requeue(
        self, begun: Sequence[Begun], error: CatalogRefused | CatalogUnavailable, *, sent: int
    ) -> list[Refusal]:
        """Make what was not written in a call of `sent` plans due at once. Without access a new process is certainly
        not there. Of all others the state is unknown (one that was there may have been deleted to be recreated), so the
        ledger keeps saying "writing", with a deadline only if the answer to a try was lost.
        """
        no_access = isinstance(error, CatalogRefused) and error.no_access
        refusals = []
        for each in begun:
            lands = max(last_effect_of_success(self.context, each.entry.until), self._options.now())
            nothing = no_access and each.plan.entry.state is LedgerState.NOTHING
            entry = replace(each.plan.entry, etag=each.entry.etag) if nothing else replace(each.entry, until=lands)
            noted = put_entry(self._storage, entry)
            queued = put_queued(self._storage, replace(each.plan.queue_entry, due=self._options.now()))
            if noted and queued:
                plan = replace(each.plan, entry=noted, queue_entry=queued)
                refusals.append(Refusal(plan=plan, error=error, isolated=sent == 1))
        return refusals

    def _begin(self, plans: Sequence[Plan], until: datetime) -> list[Begun]:
        """Claim these plans and have the ledger say that they are being written; those that others claimed are left."""

        def claim_and_begin(plan: Plan) -> Begun | None:
            claimed = self._claim(plan, until)
            return begin(self._storage, claimed, until) if claimed else None

        wanted = [plan for plan in plans if plan.entity]
        begun = [each for each in self._options.parallel.each(claim_and_begin, wanted) if each]
        claimed = {each.plan.queue_entry.process for each in begun}
        for plan in wanted:
            if plan.queue_entry.process not in claimed:
                report_process(self._options, plan, "overtaken")
        return begun

    def _nothing_left(self, plan: Plan) -> list[Refusal]:
        """Publish a process whose inputs and outputs turned out to be one asset: remove it, if it is there."""
        if plan.entry.state is not LedgerState.NOTHING:
            return self.remove(plan)
        self.done.unchanged += 1
        report_process(self._options, plan, "unchanged")
        dequeue(self._storage, plan.queue_entry, plan.revisit)
        return []

    def _claim(self, plan: Plan, until: datetime) -> Plan | None:
        """The plan with its queue entry claimed; None if the process was enqueued or published since."""
        claimed = put_queued(self._storage, replace(plan.queue_entry, due=until, revisit=False))
        return replace(plan, queue_entry=claimed) if claimed else None

    def remove(self, plan: Plan) -> list[Refusal]:
        """Remove a process that no run supports any more. Returns the refusal, if the catalog refused.

        Raises CatalogRefused without access, and CatalogUnavailable.
        """
        until = remove_until(self.context)
        claimed = self._claim(plan, until)
        writing = replace(plan.entry, state=LedgerState.WRITING, until=until)
        entry = put_entry(self._storage, writing) if claimed else None
        if claimed is None or entry is None or not is_in_time(self.context, until):
            report_process(self._options, plan, "overtaken")
            return []
        try:
            self._catalog.delete_process(entry.qualified_name)
        except CatalogRefused as error:
            if error.no_access:
                raise
            return [Refusal(plan=plan, error=error, isolated=True)]
        lands = last_effect_of_success(self.context, until)
        update_column_sources(self._storage, [replace(plan, process=None)])
        gone = replace(
            entry, state=LedgerState.NOTHING, fingerprint="", schemas="", described=frozenset(), guid="", until=lands
        )
        if put_entry(self._storage, gone):
            dequeue(self._storage, claimed.queue_entry, claimed.revisit)
        report_process(self._options, plan, "removed")
        self.done.removed += 1
        self.done.note("-", entry.qualified_name)
        return []
