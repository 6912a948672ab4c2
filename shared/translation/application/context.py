"""The context of a run: what the other runs of its application report.

A run alone may be incomplete: on Databricks only some runs name the notebook, and a write in a stream's `foreachBatch`
names only its target, while the enclosing batch names the sources.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

import msgspec

from shared.model import Asset, Span
from shared.naming.names import BUILT_IN, Names
from shared.naming.stores.families import NO_ENVIRONMENT, RunEnvironment
from shared.openlineage.run import MergedRun
from shared.secrets import address_without_secrets
from shared.translation.process.identity import JobIdentity, identity_of, strongest
from shared.translation.process.job_names import identifying_properties, workspace


class ApplicationFacts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the runs of an application have in common: its strongest job identities (none, one or two, which stand for
    several), and the environment on which names of data sets depend.
    """

    identities: tuple[JobIdentity, ...] = ()
    environment: RunEnvironment = NO_ENVIRONMENT

    def __or__(self, other: "ApplicationFacts") -> "ApplicationFacts":
        if other in (self, NO_APPLICATION_FACTS):
            return self
        mounts: dict[str, str] = {}
        for point, source in (*self.environment.mounts, *other.environment.mounts):
            mounts[point] = min(mounts.get(point, source), source)
        environment = RunEnvironment(
            workspace=max(self.environment.workspace, other.environment.workspace), mounts=tuple(sorted(mounts.items()))
        )
        return ApplicationFacts(
            identities=strongest((*self.identities, *other.identities)),
            environment=NO_ENVIRONMENT if environment == NO_ENVIRONMENT else environment,
        )


NO_APPLICATION_FACTS = ApplicationFacts()


class StreamBatch(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False):
    """A stream batch that writes nothing itself: when it ran and what it read. `began`: its start is known; quick
    batches often send no START.
    """

    seen: Span
    run_id: str
    inputs: tuple[Asset, ...]
    began: bool = True

    @property
    def ends(self) -> Span:
        """The span in which the writes inside of it may have ended."""
        return self.seen if self.began else Span(first=self.seen.last - _SOON_AFTER, last=self.seen.last)

    def encloses(self, seen_span: Span) -> bool:
        """Whether a run with this span may have run inside of it."""
        if self.began and seen_span.first < self.seen.first:
            return False
        return self.ends.first <= seen_span.last <= self.ends.last


_SOON_AFTER = timedelta(seconds=1)
"""A batch ends within this time after the last write inside of it."""


class RunContext(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What translating a run needs besides its events: facts of its application, the batches that may enclose it, and
    the naming rules.
    """

    facts: ApplicationFacts = NO_APPLICATION_FACTS
    batches: tuple[StreamBatch, ...] = ()
    names: Names = BUILT_IN


NO_CONTEXT = RunContext()


def application_facts_of(run: MergedRun) -> ApplicationFacts:
    """The facts that a run adds to its application; NO_APPLICATION_FACTS for most."""
    host = workspace(run)
    if not run.properties and not host:
        return NO_APPLICATION_FACTS
    return ApplicationFacts(
        identities=strongest([identity_of(run)]) if run.properties else (),
        environment=_environment(host, run.properties),
    )


_MOUNTS = "mountPoints"


def _environment(host: str, properties: Mapping[str, Any]) -> RunEnvironment:
    """A run's environment: a Databricks workspace's host, and the mounts in the properties, which may be invalid."""
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
    """The environment properties that naming and job identity read, without secrets; others are never needed."""
    mounts = _environment("", properties).mounts
    kept_identifying_properties: dict[str, Any] = identifying_properties(properties)
    return kept_identifying_properties | (
        {_MOUNTS: [{"mountPoint": point, "source": source} for point, source in mounts]} if mounts else {}
    )


AT_ONCE = timedelta(milliseconds=2)
"""Events this close may be reported in either order."""


def enclosing_batches(batches: Iterable[StreamBatch], run: MergedRun) -> tuple[StreamBatch, ...]:
    """The batch in which this run wrote, sorted if several are possible; empty for most runs.

    Concurrent streams enclose each other's writes too. A batch ends right after its own writes, so the first to end is
    the right one.
    """
    seen = Span(first=run.first, last=run.last)
    near = sorted(batch for batch in batches if batch.run_id != run.run_id and batch.encloses(seen))
    first = min((batch.seen.last for batch in near), default=None)
    return tuple(batch for batch in near if first and batch.seen.last <= first + AT_ONCE)
