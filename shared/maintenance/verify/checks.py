"""The parts of a check: what it inspects, what it finds, and how that is repaired."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Generic, TypeVar

from shared.errors import ContentLost, WriteConflict
from shared.naming.names import BUILT_IN, Names
from shared.publishing.planning.context import PublishContext
from shared.records.digest_set import DigestSet, combined_digest
from shared.records.run_state import RunState

Subject = TypeVar("Subject")


class RepairVerb(StrEnum):
    """How an inconsistency is repaired. `DELETE` is for rows and placeholders that nothing stored stands behind:
    no run is left to process, and publishing reads such rows as they are.
    """

    PROCESS = "process the run again"
    PUBLISH = "publish the process again"
    DELETE = "delete the orphan"


@dataclass(slots=True, kw_only=True)
class Survey:
    """Digests of what is stored and of what rows refer to, eight bytes each; later stages ask for those of earlier."""

    events: DigestSet = field(default_factory=DigestSet)
    contents: DigestSet = field(default_factory=DigestSet)
    references: DigestSet = field(default_factory=DigestSet)
    entries: DigestSet = field(default_factory=DigestSet)
    supported: DigestSet = field(default_factory=DigestSet)
    compacted: set[int] = field(default_factory=set)
    written: DigestSet = field(default_factory=DigestSet)
    used: DigestSet = field(default_factory=DigestSet)

    def add_state(self, state: RunState) -> None:
        """What a run's state lists: contributions, and entries for its application."""
        for content in state.current:
            self.supported.add(combined_digest(state.run_id, *content))
        for entry in state.entries:
            self.entries.add(combined_digest(*entry))


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyContext(PublishContext):
    """What is verified, and how.

    `grace`: how long work may be in progress; `end_timeout`: how long the end of a run is awaited; `progress` is called
    with the name of what is read and how many more were read.
    """

    names: Names = BUILT_IN
    grace: timedelta = timedelta(minutes=10)
    end_timeout: timedelta = timedelta(hours=6)
    progress: Callable[[str, int], None] = lambda _what, _more: None
    survey: Survey = field(default_factory=Survey)

    def is_recent(self, moment: datetime) -> bool:
        """Whether work on what happened then may still be in progress."""
        return datetime.now(UTC) - moment < self.grace


@dataclass(frozen=True, slots=True, kw_only=True)
class Inconsistency:
    """One thing that is not as it should be: what it is, and what is wrong. `repair` looks once more and repairs it:
    why it could not, or nothing. It raises WriteConflict or ContentLost for the same.
    """

    subject: str
    description: str
    repair: Callable[[], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class InconsistencyKind:
    """A kind of inconsistency, as the documentation's table has it."""

    name: str
    meaning: str
    verb: RepairVerb


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundInconsistency:
    """An inconsistency of a kind. `repaired`: None where no repair was asked for; `reason`: why it failed."""

    kind: InconsistencyKind
    inconsistency: Inconsistency
    repaired: bool | None = None
    reason: str = ""


CHANGED = "it changed meanwhile, or can't be repaired: verify again"
Find = Callable[[VerifyContext, Subject], Iterable[Inconsistency]]
"""Finds inconsistencies of one subject, and writes nothing. Its docstring is the kind's meaning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(Generic[Subject]):
    """A kind of inconsistency, and how it is found."""

    kind: InconsistencyKind
    find: Find[Subject]

    def run(self, context: VerifyContext, subject: Subject, *, fix: bool) -> Iterator[FoundInconsistency]:
        """What is found of one subject; with `fix` each is repaired at once."""
        for each in self.find(context, subject):
            try:
                reason = each.repair() if fix else ""
            except (WriteConflict, ContentLost) as error:
                reason = str(error)
            yield FoundInconsistency(
                kind=self.kind, inconsistency=each, repaired=not reason if fix else None, reason=reason
            )


def check(name: str, verb: RepairVerb) -> Callable[[Find[Subject]], Check[Subject]]:
    """Make a check of the function that finds its inconsistencies."""
    return lambda find: Check(
        kind=InconsistencyKind(name=name, meaning=(find.__doc__ or "").rstrip("."), verb=verb), find=find
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckStage(Generic[Subject]):
    """Subjects read one by one, in few calls for many, and the checks that each goes through. `after_publishing`: what
    earlier repairs queued is published before.
    """

    read: Callable[[VerifyContext], Iterator[Subject]]
    checks: tuple[Check[Subject], ...]
    after_publishing: bool = False

    def run(self, context: VerifyContext, *, fix: bool) -> Iterator[FoundInconsistency | None]:
        """Findings, and None after each subject: there the caller may stop."""
        for subject in self.read(context):
            for each in self.checks:
                yield from each.run(context, subject, fix=fix)
            yield None
