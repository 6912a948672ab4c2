"""What the runs of one application tell one another. Pure.

One event, and often one run, does not tell everything of what it did: on Databricks the notebook stands in some runs
only, and a write inside a stream's `foreachBatch` names only its target while the batch around it names the sources.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

import msgspec

from shared.model import Asset, Span
from shared.naming.datasets.identity import NO_ENVIRONMENT, RunEnvironment
from shared.naming.names import BUILT_IN, Names
from shared.openlineage.run import MergedRun
from shared.secrets import address_without_secrets
from shared.translation.job.databricks import identifying_properties, workspace
from shared.translation.job.identity import JobIdentity, identity_of, strongest


class ApplicationFacts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is known of an application as a whole: who it is (as much as tells none, one or several apart), and where
    it ran, by which some of its data sets are named.
    """

    identities: tuple[JobIdentity, ...] = ()
    where: RunEnvironment = NO_ENVIRONMENT

    def __or__(self, other: "ApplicationFacts") -> "ApplicationFacts":
        if other in (self, NO_APPLICATION_FACTS):
            return self
        mounts: dict[str, str] = {}
        for point, source in (*self.where.mounts, *other.where.mounts):
            mounts[point] = min(mounts.get(point, source), source)
        where = RunEnvironment(
            workspace=max(self.where.workspace, other.where.workspace), mounts=tuple(sorted(mounts.items()))
        )
        return ApplicationFacts(
            identities=strongest((*self.identities, *other.identities)),
            where=NO_ENVIRONMENT if where == NO_ENVIRONMENT else where,
        )


NO_APPLICATION_FACTS = ApplicationFacts()


class StreamBatch(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False):
    """A stream's batch that writes nothing itself: when it ran, and what it read. Quick ones often have no START: where
    it `began` is then not known.
    """

    seen: Span
    run_id: str
    inputs: tuple[Asset, ...]
    began: bool = True

    @property
    def ends(self) -> Span:
        """When what was written inside of it may have ended."""
        return self.seen if self.began else Span(first=self.seen.last - _SOON_AFTER, last=self.seen.last)

    def encloses(self, seen: Span) -> bool:
        """Whether something ran inside of it."""
        if self.began and seen.first < self.seen.first:
            return False
        return self.ends.first <= seen.last <= self.ends.last


_SOON_AFTER = timedelta(seconds=1)
"""How long after the last write inside of it a batch ends."""


class RunContext(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a run is to know beyond its own events: what the runs of its application told, the batch that encloses it
    (or may do so), and by which rules data sets are named.
    """

    told: ApplicationFacts = NO_APPLICATION_FACTS
    batches: tuple[StreamBatch, ...] = ()
    names: Names = BUILT_IN


NO_CONTEXT = RunContext()


def application_facts_of(run: MergedRun) -> ApplicationFacts:
    """What a run tells the others of its application; NOTHING_TOLD for most."""
    host = workspace(run.job.name)
    if not run.properties and not host:
        return NO_APPLICATION_FACTS
    return ApplicationFacts(
        identities=strongest([identity_of(run)]) if run.properties else (), where=_where(host, run.properties)
    )


_MOUNTS = "mountPoints"


def _where(host: str, properties: Mapping[str, Any]) -> RunEnvironment:
    """Where a run was: a Databricks workspace's host, and what is mounted there, whatever stands in the properties."""
    mounts = properties.get(_MOUNTS)
    pairs = {
        (point, address_without_secrets(source))
        for mount in (mounts if isinstance(mounts, list) else ())
        if isinstance(mount, dict)
        for point, source in ((mount.get("mountPoint"), mount.get("source")),)
        if isinstance(point, str) and isinstance(source, str) and point and source
    }
    return RunEnvironment(workspace=host, mounts=tuple(sorted(pairs))) if host or pairs else NO_ENVIRONMENT


def needed_properties(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The environment properties by which a run is named or places are found, without the secrets in them; of those
    that a run has, nothing else is ever read.
    """
    mounts = _where("", properties).mounts
    kept: dict[str, Any] = identifying_properties(properties)
    return kept | ({_MOUNTS: [{"mountPoint": point, "source": source} for point, source in mounts]} if mounts else {})


AT_ONCE = timedelta(milliseconds=2)
"""Ends so near to each other may stand in either order."""


def enclosing_batches(batches: Iterable[StreamBatch], run: MergedRun) -> tuple[StreamBatch, ...]:
    """The batch in which this run wrote, sorted where it may be one of several; none for most.

    Streams that run side by side enclose each other's writes too. A batch ends as soon as what it wrote has ended, so
    it is the first of them to end.
    """
    seen = Span(first=run.first, last=run.last)
    around = sorted(batch for batch in batches if batch.run_id != run.run_id and batch.encloses(seen))
    first = min((batch.seen.last for batch in around), default=None)
    return tuple(batch for batch in around if first and batch.seen.last <= first + AT_ONCE)
