"""What the runs of one application tell one another. Pure.

One event, and often one run, does not tell everything of what it did: on Databricks the notebook stands in some runs
only, and a write inside a stream's `foreachBatch` names only its target while the batch around it names the sources.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from shared.model import Asset, Span
from shared.openlineage import MergedRun
from shared.translation.identity import JobIdentity, identity_of, strongest


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What is known of an application as a whole: who it is (as much as tells none, one or several apart)."""

    identities: tuple[JobIdentity, ...] = ()

    def __or__(self, other: "Told") -> "Told":
        return Told(identities=strongest((*self.identities, *other.identities)))


NOTHING_TOLD = Told()


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Batch:
    """A stream's batch that writes nothing itself: when it ran, and what it read."""

    seen: Span
    run_id: str
    inputs: tuple[Asset, ...]

    def encloses(self, seen: Span) -> bool:
        """Whether something ran inside of it."""
        return self.seen.first <= seen.first and seen.last <= self.seen.last


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What a run is to know of the other runs of its application: what they told, and the batch that encloses it."""

    told: Told = NOTHING_TOLD
    batch: Batch | None = None


NOTHING_AROUND = Around()


def told_by(run: MergedRun) -> Told:
    """What a run tells the others of its application; NOTHING_TOLD for most."""
    if not run.properties:
        return NOTHING_TOLD
    return Told(identities=strongest([identity_of(run)]))


def enclosing(batches: Iterable[Batch], run: MergedRun) -> Batch | None:
    """The batch in which this run wrote; None when there is none.

    Streams that run side by side enclose each other's writes too. A batch ends as soon as what it wrote has ended, so it
    is the first of them to end.
    """
    seen = Span(first=run.first, last=run.last)
    around = (batch for batch in batches if batch.run_id != run.run_id and batch.encloses(seen))
    return min(around, key=lambda batch: (batch.seen.last, batch.run_id), default=None)
