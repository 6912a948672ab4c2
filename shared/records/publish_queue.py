"""The publish queue: what is to be published, and when. One partition, which one query reads.

A *mark* says that an application has changed what it says of a target: a process or a data set. Workers leave marks
before they commit the change. Only the publisher deletes them, and it writes rows of its own (`QueueEntry`) for what it
looks at again later. A mark's key holds its version, so that a worker that stalled never replaces a newer mark.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter

from shared.records.cells import cells_of, record_of
from shared.records.states import QueueState
from shared.storage.port import Operation, OperationKind, Row, Storage, Value, chunks, upsert_all
from shared.storage_layout import FORWARD_PARTITION, PUBLISH_QUEUE, QUEUE_PARTITION, QUEUED_ASSET, digest_of
from shared.telemetry.port import Fact

PROCESS_KIND, ASSET_KIND, DOCUMENT_KIND, FORWARD_KIND = "process", "asset", "document", "forward"
"""What a mark is about: a process or a data set to be published, a published one for the document, a run to be
forwarded.
"""
_OF_ASSET = "asset:"
"""Prefix of the targets of marks for the document that are about a data set."""
_MARK, _PAUSE, _HOLD, _OWNER = "mark|", "!pause", "!hold", "!owner"
_AT_ONCE = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A note that an application says something else of a target (by key) from this version on.

    `since`: when the event arrived that changed it; `left`: when the mark was written.
    """

    kind: str
    target: str
    application: str
    version: int
    since: datetime | None = None
    left: datetime = field(default_factory=lambda: datetime.now(UTC))
    etag: str = ""

    @property
    def key(self) -> str:
        """The key of its row."""
        return f"{_MARK}{self.kind}|{self.target}|{self.application}|{self.version}"

    @property
    def partition(self) -> str:
        """The partition of its row: marks of runs wait for ten minutes, so the publisher does not read them."""
        return FORWARD_PARTITION if self.kind == FORWARD_KIND else QUEUE_PARTITION

    def row(self) -> Row:
        """As a row of `publishqueue`."""
        values: dict[str, Value] = {"left": self.left.isoformat(), "since": (self.since or self.left).isoformat()}
        return Row(partition=self.partition, key=self.key, values=values, etag=self.etag)

    @classmethod
    def of(cls, row: Row) -> "Mark":
        """From a row of `publishqueue`."""
        kind, target, application, version = row.key.removeprefix(_MARK).split("|")
        return record_of(cls, row, kind=kind, target=target, application=application, version=int(version))

    @property
    def asset(self) -> str:
        """The key of the data set that a mark for the document is about; empty if that is a process."""
        return self.target.removeprefix(_OF_ASSET) if self.target.startswith(_OF_ASSET) else ""

    @property
    def entry(self) -> str:
        """The key of the entry to which it belongs."""
        return f"{QUEUED_ASSET}{self.target}" if self.kind == ASSET_KIND else self.target


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEntry:
    """A process, or a data set with a prefix (`target`), that is looked at once it is `due`, with its `marks`.

    `error`: why it failed, after so many `attempts`. `revisit`: it is published; only the passing of time may change
    it. `since`: when the last event arrived that contributes to it. `isolated`: the catalog refused it in a call of its
    own, so it is sent by itself, behind the others, until a new mark comes. `seen`: digest of the marks that were there
    when it failed: these do not make it due.
    """

    target: str
    due: datetime = _AT_ONCE
    attempts: int = 0
    error: str = ""
    revisit: bool = False
    since: datetime | None = None
    isolated: bool = False
    seen: str = ""
    marks: tuple[Mark, ...] = ()
    etag: str = ""

    @property
    def is_asset(self) -> bool:
        """Whether it is for a data set."""
        return self.target.startswith(QUEUED_ASSET)

    @property
    def key(self) -> str:
        """The key of its process or data set."""
        return self.target.removeprefix(QUEUED_ASSET)

    @property
    def application(self) -> str:
        """Whose it is, for a fair order."""
        return next((mark.application for mark in self.marks), "")

    def state(self, now: datetime) -> QueueState:
        """The state of its process at this time."""
        if self.revisit:
            return QueueState.REVISIT
        if self.attempts:
            return QueueState.REFUSED if self.isolated else QueueState.RETRYING
        return QueueState.PUBLISHING if now < self.due else QueueState.PENDING

    def row(self) -> Row:
        """As a row of `publishqueue`."""
        values = cells_of(self, omitted=("target", "marks"))
        return Row(partition=QUEUE_PARTITION, key=self.target, values=values, etag=self.etag)

    @classmethod
    def of(cls, row: Row) -> "QueueEntry":
        """From its row in `publishqueue`, without marks."""
        return record_of(cls, row, target=row.key)

    def marked(self, marks: tuple[Mark, ...]) -> "QueueEntry":
        """With these marks: due at once, as if it had never failed, if one of them is new."""
        if not marks or self.seen == _digest(marks):
            return replace(self, marks=marks)
        since = min(mark.since or mark.left for mark in marks)
        return QueueEntry(target=self.target, since=since, marks=marks, etag=self.etag)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishQueue:
    """The queue as it was read. `paused`: until when publishing pauses (None: it does not), `why`, and after how many
    `failures` in a row. `held`: why it is held back until a command ends. `owner`: the process that published last.
    """

    entries: tuple[QueueEntry, ...] = ()
    held: str = ""
    paused: datetime | None = None
    why: str = ""
    failures: int = 0
    owner: str = ""

    def due(self, now: datetime, is_selected: Callable[[str], bool] | None = None) -> tuple[QueueEntry, ...]:
        """The entries that are due, none while publishing pauses; in a fair order: by the time since when they wait,
        one of each application in turn. `is_selected`: of these targets, also while publishing is held back.
        """
        if (self.paused and now < self.paused) or (self.held and is_selected is None):
            return ()
        entries = [
            entry for entry in self.entries if entry.due <= now and (not is_selected or is_selected(entry.target))
        ]
        turns, numbers = list[tuple[int, QueueEntry]](), Counter[str]()
        for entry in sorted(entries, key=lambda entry: (entry.since or entry.due, entry.target)):
            turns.append((numbers[entry.application], entry))
            numbers[entry.application] += 1
        return tuple(entry for _, entry in sorted(turns, key=itemgetter(0)))

    @property
    def newest(self) -> datetime | None:
        """When the last mark was left."""
        return max((mark.left for entry in self.entries for mark in entry.marks), default=None)


def _digest(marks: Iterable[Mark]) -> str:
    return digest_of("\n".join(sorted(mark.key for mark in marks)).encode())


def read_queue(storage: Storage, *, now: datetime | None = None) -> PublishQueue:
    """All entries with their marks: one query. Marks of other kinds than processes and data sets are left out. `now`:
    the entries are not read if publishing pauses then.
    """
    rows: dict[str, QueueEntry] = {}
    marks: list[Mark] = []
    paused, hold_reason, owner = None, "", ""
    for row in storage.partition(PUBLISH_QUEUE, QUEUE_PARTITION):
        if row.key.startswith(_MARK):
            marks.append(Mark.of(row))
        elif row.key == _OWNER:
            owner = str(row.values["id"])
        elif row.key == _PAUSE:
            paused = QueueEntry.of(row)
            if now and now < paused.due:
                break  # its key sorts before those of marks and entries
        elif row.key == _HOLD:
            hold_reason = str(row.values["why"])
        else:
            rows[row.key] = QueueEntry.of(row)
    pending = [mark for mark in marks if mark.kind in {PROCESS_KIND, ASSET_KIND}]
    by_target = {target: tuple(group) for target, group in groupby(pending, key=lambda mark: mark.entry)}
    entries = {
        target: rows.get(target, QueueEntry(target=target)).marked(by_target.get(target, ()))
        for target in sorted(rows.keys() | by_target.keys())
    }
    return PublishQueue(
        entries=tuple(entries.values()),
        held=hold_reason,
        paused=paused.due if paused else None,
        why=paused.error if paused else "",
        failures=paused.attempts if paused else 0,
        owner=owner,
    )


def leave_marks(storage: Storage, marks: Iterable[Mark]) -> None:
    """Write marks: one transaction for each hundred of a partition."""
    upsert_all(storage, PUBLISH_QUEUE, (mark.row() for mark in marks))


def enqueue(storage: Storage, targets: Iterable[str], *, since: datetime | None = None) -> None:
    """Have these processes (by key) or data sets (with the prefix) looked at, also those that a publisher is working
    on. `since`: when the event arrived that changes them; now if not given.
    """
    now = datetime.now(UTC)
    rows = [QueueEntry(target=target, due=now, since=since or now).row() for target in sorted(set(targets))]
    upsert_all(storage, PUBLISH_QUEUE, rows)


def pending_targets(storage: Storage) -> frozenset[str]:
    """The targets that are to be published, not only to be looked at again once time may have changed them."""
    return frozenset(entry.target for entry in read_queue(storage).entries if not entry.revisit)


def retry_refused(storage: Storage) -> int:
    """Make isolated entries due now, because the reason of their refusal was mended. How many."""
    refused = [entry for entry in read_queue(storage).entries if entry.isolated]
    now = datetime.now(UTC)
    return sum(put_queued(storage, replace(entry, due=now)) for entry in refused)


def put_queued(storage: Storage, entry: QueueEntry) -> bool:
    """Write an entry over the one that it was made from; its marks stay, and do not make it due. False, and nothing
    written, when its target was enqueued meanwhile.
    """
    row = replace(entry, seen=_digest(entry.marks) if entry.marks else "").row()
    return bool(storage.replace(PUBLISH_QUEUE, row) if row.etag else storage.insert(PUBLISH_QUEUE, row))


def deletion(row: Row) -> Operation:
    """What deletes a row, unless it has changed since it was read."""
    return Operation(kind=OperationKind.DELETE, row=replace(row, values={}))


def document_marks(storage: Storage) -> tuple[Mark, ...]:
    """The marks for the document: the processes and data sets that were published since it was made. One query."""
    prefix = f"{_MARK}{DOCUMENT_KIND}|"
    rows = storage.partition(PUBLISH_QUEUE, QUEUE_PARTITION, since=prefix, before=f"{prefix}~")
    return tuple(map(Mark.of, rows))


def forward_marks(storage: Storage) -> tuple[Mark, ...]:
    """The marks for forwarding: the runs whose lineage has changed. One query."""
    return tuple(map(Mark.of, storage.partition(PUBLISH_QUEUE, FORWARD_PARTITION)))


def clear_marks(storage: Storage, marks: Iterable[Mark]) -> None:
    """Delete marks that are dealt with; one that was left again since it was read stays."""
    for part in chunks([deletion(mark.row()) for mark in marks]):
        if storage.transact(PUBLISH_QUEUE, part) is None:
            for operation in part:
                row = operation.row
                storage.delete(PUBLISH_QUEUE, row.partition, row.key, row.etag)


def is_held(storage: Storage) -> bool:
    """Whether publishing is held back because the record is incomplete: a point read."""
    return storage.read(PUBLISH_QUEUE, QUEUE_PARTITION, _HOLD) is not None


def document_mark(entry: QueueEntry) -> Mark:
    """The mark for the document of a process or data set that was published."""
    version = max((mark.version for mark in entry.marks), default=0)
    target = f"{_OF_ASSET}{entry.key}" if entry.is_asset else entry.key
    return Mark(kind=DOCUMENT_KIND, target=target, application="", version=version, since=entry.since)


def claim(storage: Storage, owner: str) -> None:
    """Note the process that publishes now, and so is the only one whose caches of rows are valid."""
    storage.upsert(PUBLISH_QUEUE, Row(partition=QUEUE_PARTITION, key=_OWNER, values={"id": owner}))


def owner_of(storage: Storage) -> str:
    """The process that published last."""
    row = storage.read(PUBLISH_QUEUE, QUEUE_PARTITION, _OWNER)
    return str(row.values["id"]) if row else ""


def pause(storage: Storage, until: datetime, error: str, failures: int = 0) -> None:
    """Pause publishing until then, after so many batches in a row failed."""
    storage.upsert(PUBLISH_QUEUE, QueueEntry(target=_PAUSE, due=until, error=error, attempts=failures).row())


def present_pause(storage: Storage) -> tuple[datetime | None, str]:
    """Until when publishing pauses (None: it does not), and why: a point read."""
    row = storage.read(PUBLISH_QUEUE, QUEUE_PARTITION, _PAUSE)
    return (QueueEntry.of(row).due, QueueEntry.of(row).error) if row else (None, "")


def hold_publishing(storage: Storage, reason: str) -> None:
    """Hold publishing back until `release_publishing`, because the record is incomplete."""
    storage.upsert(PUBLISH_QUEUE, Row(partition=QUEUE_PARTITION, key=_HOLD, values={"why": reason}))


def release_publishing(storage: Storage) -> None:
    """No longer hold publishing back."""
    storage.delete(PUBLISH_QUEUE, QUEUE_PARTITION, _HOLD)


def resume_publishing(storage: Storage) -> None:
    """End the pause."""
    storage.delete(PUBLISH_QUEUE, QUEUE_PARTITION, _PAUSE)


def backlog(storage: Storage) -> dict[str, Fact]:
    """How many targets are to be published, and for how many seconds the oldest of them has been."""
    now = datetime.now(UTC)
    waiting = [entry for entry in read_queue(storage).entries if not entry.revisit]
    oldest = min((entry.since for entry in waiting if entry.since), default=now)
    return {"queued": len(waiting), "queue_oldest": round((now - oldest).total_seconds(), 3)}
