"""What people read of a change: a sentence for each kind, and the headline of a message."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime

from shared.watching.comparing.changes import Change, ChangeKind, Topic
from shared.watching.comparing.view import ColumnKey

_MAX_OTHERS = 10
_MAX_TEXT = 1000
"""Characters of a sentence."""


def _others(change: Change) -> str:
    shown = ", ".join(map(column_name, change.others[:_MAX_OTHERS]))
    left = len(change.others) - _MAX_OTHERS
    return f"{shown} and {left:,} more" if left > 0 else shown


def column_name(column: ColumnKey) -> str:
    """A column for people: the end of its data set's name, and the column; without one the data set alone."""
    dataset = short_name(column[1])
    return f"{dataset}.{column[2]}" if column[2] else dataset


def short_name(qualified_name: str) -> str:
    """The last part of a qualified name."""
    return qualified_name.rstrip("/").rpartition("/")[2].rpartition("#")[2] or qualified_name


def _time(text: str) -> str:
    return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M} UTC"


_SENTENCES: dict[ChangeKind, Callable[[Change], str]] = {
    ChangeKind.COLUMN_ADDED: lambda change: f"column {change.column} was added ({change.after})",
    ChangeKind.COLUMN_DROPPED: lambda change: f"column {change.column} was dropped ({change.before})",
    ChangeKind.COLUMN_RENAMED: lambda change: f"column {change.before} was renamed to {change.after}",
    ChangeKind.TYPE_WIDENED: lambda change: f"column {change.column} was widened: {change.before} → {change.after}",
    ChangeKind.TYPE_CHANGED: lambda change: (
        f"column {change.column} has another type: {change.before} → {change.after}"
    ),
    ChangeKind.SOURCE_CAME: lambda change: f"it is now also made of {_others(change)}",
    ChangeKind.SOURCE_WENT: lambda change: f"it is no longer made of {_others(change)}",
    ChangeKind.COLUMN_SOURCE_CAME: lambda change: f"column {change.column} is now also made of {_others(change)}",
    ChangeKind.COLUMN_SOURCE_WENT: lambda change: f"column {change.column} is no longer made of {_others(change)}",
    ChangeKind.MASK_LOST: lambda change: (
        f"the value of {change.column} was masked before, and now reaches {_others(change)} plain"
    ),
    ChangeKind.JOB_OVERDUE: lambda change: (
        f"it last started at {_time(change.before)}, and by its own rhythm was due by {_time(change.after)}"
    ),
    ChangeKind.GATE_BROKEN: lambda change: f"{change.before}: {change.after}",
    ChangeKind.TEST_FAILED: lambda change: (
        f"the test {change.after} failed" + (f" on column {change.column}" if change.column else "")
    ),
}


def sentence(change: Change) -> str:
    """The sentence about a change; its subject is that of the message."""
    return _SENTENCES[change.kind](change)[:_MAX_TEXT]


_HEADLINES: dict[Topic, str] = {
    Topic.SCHEMA: "Schema of {name}: {what}",
    Topic.LINEAGE: "Lineage of {name}: {what}",
    Topic.MASK: "Mask lost: {name}, {what}",
    Topic.OVERDUE: "Job overdue: {name}",
    Topic.GATE: "Gate broken: {name}, {what}",
    Topic.QUALITY: "Quality of {name}: {what}",
}
_COUNTED: dict[ChangeKind, tuple[str, str]] = {
    ChangeKind.COLUMN_ADDED: ("column added", "columns added"),
    ChangeKind.COLUMN_DROPPED: ("column dropped", "columns dropped"),
    ChangeKind.COLUMN_RENAMED: ("column renamed", "columns renamed"),
    ChangeKind.TYPE_WIDENED: ("type widened", "types widened"),
    ChangeKind.TYPE_CHANGED: ("type changed", "types changed"),
    ChangeKind.SOURCE_CAME: ("source came", "sources came"),
    ChangeKind.SOURCE_WENT: ("source went", "sources went"),
    ChangeKind.COLUMN_SOURCE_CAME: ("column with a new source", "columns with new sources"),
    ChangeKind.COLUMN_SOURCE_WENT: ("column lost a source", "columns lost sources"),
    ChangeKind.MASK_LOST: ("column", "columns"),
    ChangeKind.JOB_OVERDUE: ("job", "jobs"),
    ChangeKind.GATE_BROKEN: ("rule", "rules"),
    ChangeKind.TEST_FAILED: ("test failed", "tests failed"),
}


def headline(changes: Sequence[Change], name: str) -> str:
    """The title of a message about these changes, which share subject and topic."""
    counts = Counter(each.kind for each in changes)
    what = ", ".join(f"{count:,} {_COUNTED[kind][count > 1]}" for kind, count in sorted(counts.items()))
    return _HEADLINES[changes[0].topic].format(name=name, what=what)
