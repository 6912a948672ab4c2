"""A change of lineage as a value (topic, severity, subject, the columns where its effects begin), and its sentence."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

import msgspec

from shared.watching.comparing.view import ColumnKey, DatasetKey


class Topic(StrEnum):
    """The kind of thing that changed. Rules route by it."""

    SCHEMA = "schema"
    LINEAGE = "lineage"
    MASK = "mask"
    OVERDUE = "overdue"
    GATE = "gate"
    QUALITY = "quality"


class Severity(StrEnum):
    """How much a change may harm what is downstream."""

    HARMLESS = "harmless"
    RISKY = "risky"
    BREAKING = "breaking"

    @property
    def rank(self) -> int:
        """0 for harmless; higher is worse."""
        return _RANKS.index(self)


_RANKS = (Severity.HARMLESS, Severity.RISKY, Severity.BREAKING)


class ChangeKind(StrEnum):
    """The kind of change."""

    COLUMN_ADDED = "column_added"
    COLUMN_DROPPED = "column_dropped"
    COLUMN_RENAMED = "column_renamed"
    TYPE_WIDENED = "type_widened"
    TYPE_CHANGED = "type_changed"
    SOURCE_CAME = "source_came"
    SOURCE_WENT = "source_went"
    COLUMN_SOURCE_CAME = "column_source_came"
    COLUMN_SOURCE_WENT = "column_source_went"
    MASK_LOST = "mask_lost"
    MASK_UNCERTAIN = "mask_uncertain"
    JOB_OVERDUE = "job_overdue"
    GATE_BROKEN = "gate_broken"
    TEST_FAILED = "test_failed"


class Change(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One change.

    `dataset` and `column` are what changed; a change of a job has `process` (qualified name), one of a gate `policy`.
    `before` and `after`: types, names or times, by kind; `others`: further columns that the change is about (sources
    that came or went, columns that are or may be plain now). `processes`: those that make the change (qualified names).
    `starts`: the columns whose downstream is hit; `was`: they are to be looked for in the state before.
    """

    topic: Topic
    severity: Severity
    kind: ChangeKind
    dataset: DatasetKey = ("", "")
    column: str = ""
    process: str = ""
    policy: str = ""
    before: str = ""
    after: str = ""
    others: tuple[ColumnKey, ...] = ()
    processes: tuple[str, ...] = ()
    starts: tuple[ColumnKey, ...] = ()
    was: bool = False

    @property
    def subject(self) -> tuple[str, str]:
        """Type and qualified name of the message's subject. Changes of one subject, topic and severity share one."""
        if self.policy:
            return "policy", self.policy
        if self.process:
            return "process", self.process
        return self.dataset


_MAX_OTHERS = 10
_MAX_TEXT = 1000
"""Characters of a sentence."""


def _others(change: Change) -> str:
    names = ", ".join(map(column_name, change.others[:_MAX_OTHERS]))
    remaining = len(change.others) - _MAX_OTHERS
    return f"{names} and {remaining:,} more" if remaining > 0 else names


def column_name(column: ColumnKey) -> str:
    """A column for people: the end of its data set's name, and the column. Without a column: the data set alone."""
    dataset = short_name(column[1])
    return f"{dataset}.{column[2]}" if column[2] else dataset


def short_name(qualified_name: str) -> str:
    """The last part of a qualified name."""
    return qualified_name.rstrip("/").rpartition("/")[2].rpartition("#")[2] or qualified_name


def _time(text: str) -> str:
    return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M} UTC"


_TEXTS: dict[ChangeKind, tuple[str, str, str]] = {
    ChangeKind.COLUMN_ADDED: ("column {column} was added ({after})", "column added", "columns added"),
    ChangeKind.COLUMN_DROPPED: ("column {column} was dropped ({before})", "column dropped", "columns dropped"),
    ChangeKind.COLUMN_RENAMED: ("column {before} was renamed to {after}", "column renamed", "columns renamed"),
    ChangeKind.TYPE_WIDENED: ("column {column} was widened: {before} → {after}", "type widened", "types widened"),
    ChangeKind.TYPE_CHANGED: ("column {column} has another type: {before} → {after}", "type changed", "types changed"),
    ChangeKind.SOURCE_CAME: ("it is now also made of {others}", "source came", "sources came"),
    ChangeKind.SOURCE_WENT: ("it is no longer made of {others}", "source went", "sources went"),
    ChangeKind.COLUMN_SOURCE_CAME: (
        "column {column} is now also made of {others}",
        "column with a new source",
        "columns with new sources",
    ),
    ChangeKind.COLUMN_SOURCE_WENT: (
        "column {column} is no longer made of {others}",
        "column lost a source",
        "columns lost sources",
    ),
    ChangeKind.MASK_LOST: (
        "the value of {column} was masked before, and now reaches {others} plain",
        "column",
        "columns",
    ),
    ChangeKind.MASK_UNCERTAIN: (
        "the value of {column} was masked before, and now may reach {others} plain, through code that is not known",
        "column",
        "columns",
    ),
    ChangeKind.JOB_OVERDUE: ("it last started at {before}, and by its own rhythm was due by {after}", "job", "jobs"),
    ChangeKind.GATE_BROKEN: ("{before}: {after}", "rule", "rules"),
    ChangeKind.TEST_FAILED: ("the test {after} failed{on_column}", "test failed", "tests failed"),
}
"""Of each kind: the sentence, and how one and many are counted in a headline."""


def sentence(change: Change) -> str:
    """The sentence about a change. It continues the name of the message's subject."""
    old_text, new_text = change.before, change.after
    if change.kind is ChangeKind.JOB_OVERDUE:
        old_text, new_text = _time(old_text), _time(new_text)
    return _TEXTS[change.kind][0].format(
        column=change.column,
        on_column=f" on column {change.column}" if change.column else "",
        before=old_text,
        after=new_text,
        others=_others(change),
    )[:_MAX_TEXT]


_HEADLINES: dict[Topic, str] = {
    Topic.SCHEMA: "Schema of {name}: {what}",
    Topic.LINEAGE: "Lineage of {name}: {what}",
    Topic.MASK: "Mask lost: {name}, {what}",
    Topic.OVERDUE: "Job overdue: {name}",
    Topic.GATE: "Gate broken: {name}, {what}",
    Topic.QUALITY: "Quality of {name}: {what}",
}


_MASK_UNCERTAIN = "Mask uncertain: {name}, {what}"


def headline(changes: Sequence[Change], name: str) -> str:
    """The title of a message about these changes, which share subject and topic."""
    counts = Counter(change.kind for change in changes)
    counted = ", ".join(_counted(kind, count) for kind, count in sorted(counts.items()))
    uncertain = changes[0].kind is ChangeKind.MASK_UNCERTAIN  # its severity is not that of a lost mask
    return (_MASK_UNCERTAIN if uncertain else _HEADLINES[changes[0].topic]).format(name=name, what=counted)


def _counted(kind: ChangeKind, count: int) -> str:
    _, singular, many = _TEXTS[kind]
    return f"{count:,} {many if count > 1 else singular}"
