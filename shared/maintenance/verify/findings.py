"""What verify finds, how that is repaired, and what its checks work with."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import takewhile
from typing import TypeVar

from shared.applications.processor import ApplicationProcessor
from shared.publishing.context import PublishContext
from shared.reading.values import Progress, counted, no_progress
from shared.records.digest_set import DigestSet

T = TypeVar("T")
CHANGED = "it changed meanwhile, or can't be repaired: verify again"


class Kind(StrEnum):
    """A kind of inconsistency, as the documentation's table has it."""

    ORPHAN_ROW = "orphan row"
    APPLICATION = "outdated application"
    PART = "outdated part"
    PROCESS = "outdated process"
    PLACEHOLDER = "unused placeholder"
    ARCHIVE = "damaged archive"


MEANINGS = {
    Kind.ORPHAN_ROW: ("A dead letter, or the row of an event, whose blob is gone", "delete it"),
    Kind.APPLICATION: (
        "An application that lacks stored events or content, or says something else than the records of its runs",
        "compute it again",
    ),
    Kind.PART: (
        "A process that lacks what an application contributes, or has something else of it",
        "publish it again",
    ),
    Kind.PROCESS: (
        "A process that is not published and not queued, that the catalog lacks or changed, or without contributions",
        "publish it again",
    ),
    Kind.PLACEHOLDER: ("A placeholder of Throughline that nothing is linked to", "delete it"),
    Kind.ARCHIVE: ("A file of the archive, or its index, that is missing or damaged", "restore it from a copy"),
}
"""What each kind means, and how it is repaired: the last one by people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inconsistency:
    """One thing that is not as it should be: what it is, and what is wrong. `repair` looks once more and repairs it:
    why it could not, or nothing. It raises WriteConflict or ContentLost for the same.

    `repaired`: None where no repair was asked for; `reason`: why it failed.
    """

    kind: Kind
    subject: str
    description: str
    repair: Callable[[], str]
    repaired: bool | None = None
    reason: str = ""


@dataclass(slots=True, kw_only=True)
class Survey:
    """Digests of what is stored and of what should be, eight bytes each; later checks ask for those of earlier."""

    events: DigestSet = field(default_factory=DigestSet)
    shares: DigestSet = field(default_factory=DigestSet)
    written: DigestSet = field(default_factory=DigestSet)
    used: DigestSet = field(default_factory=DigestSet)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyContext(PublishContext):
    """What is verified, and how. `grace`: how long work may be in progress; `end_timeout`: how long the end of a run is
    awaited.
    """

    processor: ApplicationProcessor
    grace: timedelta = timedelta(minutes=10)
    end_timeout: timedelta = timedelta(hours=6)
    progress: Progress = no_progress
    survey: Survey = field(default_factory=Survey)

    def stoppable(self, subjects: Iterable[T]) -> Iterator[T]:
        """The subjects of a check, until the command is stopped."""
        return takewhile(lambda _: not self.publishing.stopped(), subjects)

    def subjects(self, name: str, subjects: Iterable[T]) -> Iterator[T]:
        """The same, with progress under this name."""
        return self.stoppable(counted(self.progress, name, subjects))

    def is_recent(self, moment: datetime | None, wait: timedelta = timedelta()) -> bool:
        """Whether work on what happened then may still be in progress."""
        return moment is not None and datetime.now(UTC) - moment < max(self.grace, wait)
