"""Messages: the changes of one subject, topic and severity between two snapshots, with what they affect.

A message's id is made of the comparison's number and the message's subject, topic and severity. So a comparison that
is repeated after an interruption gives the same ids.

`python -m shared.watching.messages FILE` writes the JSON Schema of a message, as the channels `webhook` and `file` get
it.
"""

import hashlib
import json
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby, islice
from pathlib import Path

import msgspec

from shared.watching.comparing.changes import Change, ColumnKey, DatasetKey, Severity, Topic, View, headline, sentence
from shared.watching.comparing.comparison import changes, views
from shared.watching.comparing.snapshot import Snapshot

FORMAT = 1
MAX_NAMED = 100
"""So many changes, columns, data sets and processes a message names; the counts are those of all."""


class Subject(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The subject of a message: a data set, a process (`type` is `process`) or a policy (`type` is `policy`)."""

    type: str
    qualified_name: str
    name: str
    owner: str = ""


class MessageChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A change in a message: its kind, a sentence, and the details for programs."""

    kind: str
    text: str
    column: str = ""
    before: str = ""
    after: str = ""


class ColumnHit(msgspec.Struct, frozen=True, kw_only=True):
    """A column downstream."""

    type: str
    qualified_name: str
    column: str


class DatasetHit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A data set downstream, and its owner if known."""

    type: str
    qualified_name: str
    name: str
    owner: str = ""


class ProcessHit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A process downstream, with its platform, job and link."""

    qualified_name: str
    name: str
    platform: str = ""
    job: str = ""
    link: str = ""


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """What is downstream, nearest first, at most MAX_NAMED of each kind. The counts are of all."""

    columns: tuple[ColumnHit, ...] = ()
    datasets: tuple[DatasetHit, ...] = ()
    processes: tuple[ProcessHit, ...] = ()
    column_count: int = 0
    dataset_count: int = 0
    process_count: int = 0


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A message. `decided`: when the change was seen (UTC). `count`: of all changes, also those that are not listed."""

    format: int = FORMAT
    id: str
    decided: datetime
    topic: Topic
    severity: Severity
    subject: Subject
    title: str
    changes: tuple[MessageChange, ...]
    count: int
    hit: Hit
    owners: tuple[str, ...] = ()


_ENCODER = msgspec.json.Encoder(order="deterministic")


def encoded(message: Message) -> bytes:
    """The message as JSON: what the channel `webhook` sends and the channel `file` writes."""
    return _ENCODER.encode(message)


def messages(old_snapshot: Snapshot, new_snapshot: Snapshot, *, comparison: str, now: datetime) -> tuple[Message, ...]:
    """The messages about all changes from one snapshot to the next. `comparison`: a name that no other pair of
    snapshots has.
    """
    was, is_now = views(old_snapshot, new_snapshot)
    sorted_changes = sorted(changes(old_snapshot, new_snapshot), key=_group)
    return tuple(
        _message(was, is_now, tuple(group), comparison, now) for _, group in groupby(sorted_changes, key=_group)
    )


def _group(change: Change) -> tuple[str, int, tuple[str, str]]:
    return str(change.topic), -change.severity.rank, change.subject


def _message(was: View, now: View, group: Sequence[Change], comparison: str, decided: datetime) -> Message:
    first = group[0]
    named = group[:MAX_NAMED]
    subject = _subject(was, now, first)
    hit = _hit(was, now, group)
    owned = (subject.owner, *(dataset.owner for dataset in hit.datasets))
    owners = dict.fromkeys(name for owner_list in owned for name in owner_list.split(", ") if name)
    return Message(
        id=_id(comparison, str(first.topic), str(first.severity), *first.subject),
        decided=decided,
        topic=first.topic,
        severity=first.severity,
        subject=subject,
        title=headline(group, subject.name),
        changes=tuple(map(_change, named)),
        count=len(group),
        hit=hit,
        owners=tuple(owners),
    )


def _change(change: Change) -> MessageChange:
    text = sentence(change)
    return MessageChange(kind=change.kind, text=text, column=change.column, before=change.before, after=change.after)


def _id(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _subject(was: View, now: View, change: Change) -> Subject:
    kind, name = change.subject
    if change.policy:
        return Subject(type=kind, qualified_name=name, name=name)
    if change.process:
        process = now.processes[name]
        return Subject(type=kind, qualified_name=name, name=process.name, owner=process.owner)
    dataset = now.datasets.get(change.dataset) or was.datasets[change.dataset]
    return Subject(type=kind, qualified_name=name, name=dataset.name, owner=dataset.owner)


def _hit(was: View, now: View, changes: Iterable[Change]) -> Hit:
    """What is downstream of these changes: by columns, and by tables if a whole data set or job changed. A column that
    a lost mask exposes, a data set that a job writes, and one that a policy names are downstream of their subject.
    """
    columns: dict[ColumnKey, None] = {}
    datasets: dict[DatasetKey, None] = {}
    processes: dict[str, None] = {}
    for change in changes:
        view = was if change.was else now
        exposed = change.others if change.topic is Topic.MASK else ()
        reached = view.downstream(change.starts)
        columns |= dict.fromkeys((*exposed, *reached.columns))
        datasets |= dict.fromkeys(key[:2] for key in (*exposed, *reached.columns))
        processes |= dict.fromkeys((*(change.processes if exposed else ()), *reached.processes))
        if not change.column:
            for dataset in _whole(now, change):
                fed = view.fed(dataset)
                start = () if dataset == change.subject else (dataset,)
                datasets |= dict.fromkeys((*start, *fed.datasets))
                processes |= dict.fromkeys(fed.processes)
    return Hit(
        columns=tuple(
            ColumnHit(type=key[0], qualified_name=key[1], column=key[2]) for key in islice(columns, MAX_NAMED)
        ),
        datasets=tuple(_dataset_hit(was, now, key) for key in islice(datasets, MAX_NAMED)),
        processes=tuple(_process_hit(was, now, name) for name in islice(processes, MAX_NAMED)),
        column_count=len(columns),
        dataset_count=len(datasets),
        process_count=len(processes),
    )


def _whole(now: View, change: Change) -> tuple[DatasetKey, ...]:
    """The data sets that a change affects as a whole."""
    if change.process:
        keys = tuple(now.datasets)
        return tuple(keys[number] for number in now.processes[change.process].outputs)
    return (change.dataset,) if change.dataset[1] else tuple(other[:2] for other in change.others)


def _dataset_hit(was: View, now: View, key: DatasetKey) -> DatasetHit:
    dataset = now.datasets.get(key) or was.datasets[key]
    return DatasetHit(type=key[0], qualified_name=key[1], name=dataset.name, owner=dataset.owner)


def _process_hit(was: View, now: View, name: str) -> ProcessHit:
    process = now.processes.get(name) or was.processes[name]
    return ProcessHit(
        qualified_name=name, name=process.name, platform=process.platform, job=process.job, link=process.link
    )


def schema_text() -> str:
    """The schema as the file has it. A message may gain fields; `format` changes if the meaning of one changes."""
    form = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A message of throughline watch",
        **msgspec.json.schema(Message),
    }
    return json.dumps(form, indent=2) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(schema_text(), encoding="utf-8")
