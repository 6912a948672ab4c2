"""How queue entries end: published and taken off the queue, put off after a failure, or paused with all others.

One rule for every call that the catalog does not take: send fewer. After failures that name no culprit a call is half
as long each time (`batch_size`); a refused call is sent again in halves until its culprits are in calls of their own
(`write_batch` of `writing.py`); a call that is too long before it is sent is halved until it fits (`shrink_to_fit`).
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeVar

from shared.catalog.port import batches
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.publishing.context import PublishContext, Published
from shared.publishing.placeholders import Description
from shared.publishing.planning import Plan
from shared.records.publish_queue import QueueEntry, deletion, document_mark, pause, put_queued
from shared.records.waits import FIRST_DELAY, delay
from shared.secrets import text_without_secrets
from shared.storage.port import MAX_OPERATIONS, Operation, OperationKind, chunks
from shared.storage_layout import PUBLISH_QUEUE, QUEUED_ASSET
from shared.telemetry.port import PROCESS, Fact

_T = TypeVar("_T")


def batch_size(limit: int, failures: int) -> int:
    """How many of `limit` items to send after so many failures: all after the first, then half as many each time."""
    return max(1, limit >> max(0, failures - 1))


def shrink_to_fit(items: Sequence[_T], fits: Callable[[Sequence[_T]], bool]) -> Sequence[_T]:
    """The first items, halved until they fit; at least one."""
    while len(items) > 1 and not fits(items):
        items = items[: len(items) // 2]
    return items


_LOG = logging.getLogger("throughline.publish")
MAX_ERROR_LENGTH = 1000
_PAUSE_WITHOUT_ACCESS = 60.0
_SIGNS = {"written": "+", "removed": "-"}
_LACKS_TYPE = (
    "The catalog lacks this type: `throughline types plan` names the rule, `throughline types apply` creates it"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """An entry whose marks are dealt with, and when it is looked at again, if at all (`later`). `is_published`: what
    the catalog holds of it is as it should be.
    """

    entry: QueueEntry
    later: QueueEntry | None = None
    is_published: bool = False

    @classmethod
    def of(cls, entry: QueueEntry, revisit: datetime | None = None) -> "Outcome":
        """An entry that is published; `revisit`: when the passing of time may change it."""
        later = QueueEntry(target=entry.target, due=revisit, revisit=True) if revisit else None
        return cls(entry=entry, later=later, is_published=True)

    def operations(self, *, documents: bool) -> list[Operation]:
        """What takes it off the queue: unless all is as it was read, nothing. `documents`: leave a mark for the
        document if it is published.
        """
        operations = [deletion(mark.row()) for mark in self.entry.marks]
        row = self.entry.row()
        if self.later:
            kind = OperationKind.REPLACE if row.etag else OperationKind.INSERT
            later = replace(self.later, etag=row.etag, marks=(), seen="")
            operations.append(Operation(kind=kind, row=later.row()))
        elif row.etag:
            operations.append(deletion(row))
        if operations and documents and self.is_published:
            operations.append(Operation(kind=OperationKind.UPSERT, row=document_mark(self.entry).row()))
        return operations


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A plan, with its ledger entry as it is now, that the catalog refused, and why; `isolated`: it was refused in a
    call of its own.
    """

    plan: Plan
    error: CatalogRefused | CatalogUnavailable
    isolated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """Ends the entries of a drain, and counts them in `published`. `entries`: those of the drain that are still open,
    by target.
    """

    context: PublishContext
    published: Published
    entries: dict[str, QueueEntry] = field(default_factory=dict)

    def begin(self, entries: Iterable[QueueEntry]) -> None:
        """Begin to work on these entries."""
        self.entries.update({entry.target: entry for entry in entries})

    def finish(self, items: Sequence[Outcome]) -> None:
        """Take entries off the queue, or put them off, in as few transactions as possible. An entry that was marked or
        enqueued meanwhile stays; one that another publisher has taken off is put off all the same.
        """
        storage, documents = self.context.storage, self.context.publishing.documents
        groups = filter(None, (item.operations(documents=documents) for item in items))
        pending = deque(batches(groups, MAX_OPERATIONS, len))
        while pending:
            batch = pending.popleft()
            parts = chunks([operation for group in batch for operation in group])
            is_refused = None in [storage.transact(PUBLISH_QUEUE, part) for part in parts]
            middle = len(batch) // 2
            if is_refused and middle:
                pending += [batch[:middle], batch[middle:]]
            elif is_refused:
                for operation in batch[0]:
                    if operation.kind in {OperationKind.INSERT, OperationKind.REPLACE}:
                        storage.insert(PUBLISH_QUEUE, replace(operation.row, etag=""))
        for item in items:
            self.entries.pop(item.entry.target, None)

    def finish_plans(self, plans: Iterable[Plan], state: str) -> None:
        """Take processes in this state off the queue; they are looked at again when time may change them."""
        plans, is_write = list(plans), state in _SIGNS
        moments = [(plan.revisit, plan.entry.landing.repetition if is_write else None) for plan in plans]
        self.finish(
            [
                Outcome.of(plan.queue_entry, min(filter(None, times), default=None))
                for plan, times in zip(plans, moments, strict=True)
            ]
        )
        for plan in plans:
            self.report(plan, state)
            if is_write:
                self.published.note(_SIGNS[state], plan.name)
        self.published.count(state, len(plans))

    def postpone(self, plan: Plan, until: datetime) -> None:
        """Look at a process again when nothing is waited for any more, or it is marked again."""
        self.published.postponed += 1
        self.report(plan, "postponed")
        self.put(replace(plan.queue_entry, due=until))

    def put(self, entry: QueueEntry) -> None:
        """Look at an entry again once it is due; its marks stay, since they are not dealt with."""
        put_queued(self.context.storage, entry)
        self.entries.pop(entry.target, None)

    def put_off(self, entry: QueueEntry, error: Exception, *, isolated: bool = False, on_record: bool = False) -> None:
        """Retry an entry later: content that can't be read until `verify --fix` mended it, a refusal until it ends.
        `on_record`: what its marks are about is on record, so they go.
        """
        self.published.refused += 1
        later_entry = replace(self._failed(entry, error), isolated=isolated)
        if on_record:
            self.finish([Outcome(entry=entry, later=later_entry)])
        else:
            self.put(later_entry)
        _LOG.error("process put off process=%s error=%s", entry.target, later_entry.error)

    def refuse(self, refusals: Iterable[Refusal]) -> None:
        """Retry what the catalog refused in a call of its own later, alone."""
        for refusal in refusals:
            plan = refusal.plan
            self.put_off(plan.queue_entry, refusal.error, isolated=True, on_record=not plan.is_pulled)
            self.report(plan, "refused", error_text(refusal.error))

    def note(self, description: Description) -> None:
        """Put data sets that could not be described off, and those that are to be described once more. Those that were
        not tried are due at once, although another publisher may have taken them off the queue meanwhile.
        """
        untried, now = map(self._asset, description.untried), self.context.publishing.now()
        self.finish([Outcome(entry=entry, later=replace(entry, since=entry.since or now)) for entry in untried])
        self.finish([Outcome.of(self._asset(key), due_time) for key, due_time in sorted(description.later.items())])
        for key, error in sorted(description.errors.items()):
            is_refused = isinstance(error, CatalogRefused) and not error.no_access
            self.put_off(self._asset(key), error, isolated=is_refused, on_record=True)

    def _asset(self, key: str) -> QueueEntry:
        target = f"{QUEUED_ASSET}{key}"
        return self.entries.get(target, QueueEntry(target=target))

    def pause(self, batch: Iterable[QueueEntry], error: CatalogUnavailable | CatalogRefused, failures: int) -> None:
        """Pause publishing after so many failures in a row. Entries that may have caused the error are retried later
        than all others, so that one asset on which the catalog always fails can't block the rest.
        """
        options, published = self.context.publishing, self.published
        wait = max(options.pause, timedelta(seconds=getattr(error, "after", _PAUSE_WITHOUT_ACCESS)))
        published.error = error_text(error)
        pause(self.context.storage, options.now() + wait, published.error, failures)
        batch = [entry for entry in batch if entry.target in self.entries]
        if not error.is_general:
            for entry in batch:
                self.put(self._failed(entry, error, first=options.pause))
        _LOG.warning(
            "catalog unavailable pause=%.0fs batch=%d error=%s", wait.total_seconds(), len(batch), published.error
        )

    def _failed(self, entry: QueueEntry, error: Exception, *, first: timedelta = FIRST_DELAY) -> QueueEntry:
        due_time = self.context.publishing.now() + delay(entry.attempts, entry.target, first=first)
        return replace(entry, due=due_time, attempts=entry.attempts + 1, error=error_text(error), revisit=False)

    def report(self, plan: Plan, state: str, reason: str = "") -> None:
        """Report the outcome for a queued process: its state, and the reason of a refusal."""
        entity, entry = plan.entity, plan.queue_entry
        facts: dict[str, Fact] = {
            "process": plan.name or entry.target,
            "state": state,
            "attempts": entry.attempts + 1,
        }
        if reason:
            facts["reason"] = reason
        if entity:
            facts |= {"inputs": len(entity.inputs), "outputs": len(entity.outputs)}
        options = self.context.publishing
        if state in {"written", "removed"} and entry.since and not entry.revisit:
            facts["lag"] = round((options.now() - entry.since).total_seconds(), 3)
        options.telemetry.report(PROCESS, *plan.runs, began=plan.began, **facts)


def error_text(error: Exception) -> str:
    """An error's text without secrets, for storage and logs: catalogs and proxies may quote a request."""
    text = text_without_secrets(str(error))[:MAX_ERROR_LENGTH]
    return f"{text}. {_LACKS_TYPE}" if isinstance(error, CatalogRefused) and error.unknown_type else text
