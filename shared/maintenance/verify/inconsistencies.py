"""What a kind of damage is, and what all of them work with."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from shared.catalog.port import Catalog
from shared.naming.names import BUILT_IN, Names
from shared.publishing.options import PublishOptions
from shared.records.digest_set import DigestSet
from shared.reporting.run_outcomes import Progress
from shared.storage.port import Storage


class Stage(StrEnum):
    """What is gone through, in this order, and what a kind is shown of it one by one."""

    LETTERS = "dead letters"
    RUNS = "runs"
    EVENTS = "events without rows"
    CONTRIBUTIONS = "contributions"
    SAID = "what runs have said"
    PROCESSES = "processes"
    CATALOG = "our processes in the catalog"
    PLACED = "our placeholders"


@dataclass(slots=True, kw_only=True)
class Survey:
    """What has been seen so far, eight bytes each: what is stored, and what rows say that there should be."""

    events: DigestSet = field(default_factory=DigestSet)
    contents: DigestSet = field(default_factory=DigestSet)
    links: DigestSet = field(default_factory=DigestSet)
    words: DigestSet = field(default_factory=DigestSet)
    spoken: DigestSet = field(default_factory=DigestSet)
    folded: set[int] = field(default_factory=set)
    written: DigestSet = field(default_factory=DigestSet)
    used: DigestSet = field(default_factory=DigestSet)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What is verified, and how: `grace` is how long work may be under way, `end_timeout` how long the end of a run is
    waited for; `seen` is told how far it has come.
    """

    storage: Storage
    catalog: Catalog
    publishing: PublishOptions
    names: Names = BUILT_IN
    grace: timedelta = timedelta(minutes=10)
    end_timeout: timedelta = timedelta(hours=6)
    seen: Progress = lambda _what, _more: None
    survey: Survey = field(default_factory=Survey)

    def settling(self, moment: datetime) -> bool:
        """Whether what happened then may still be in somebody's hands."""
        return datetime.now(UTC) - moment < self.grace


@dataclass(frozen=True, slots=True, kw_only=True)
class Inconsistency:
    """One thing that is not as it should be: `subject` names it, `words` say what is wrong; `about` is what mending it
    needs to know.
    """

    subject: str
    words: str
    about: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of damage. `means` and `mends` say what is wrong and what mending does.

    `find` is shown all of its stage, one by one, and says what is damaged of it; it writes nothing. `mend` looks again,
    for much may have happened since, and says whether the damage is gone; what it changed in our record is published
    after it.
    """

    name: str
    stage: Stage
    means: str
    mends: str
    find: Callable[[World, Any], Iterable[Inconsistency]]
    mend: Callable[[World, Inconsistency], bool]
