"""A change of lineage as a value: its topic, severity and subject, and the columns where its effects begin."""

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
