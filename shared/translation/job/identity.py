"""Who wrote: a process's name, which stays the same for ever while job and sink do.

It is made of the job's namespace, the job's identity and the sink's canonical location; never of the inputs, of Spark's
node names or of a run. A job's identity is the best that its events tell: a Databricks notebook or job, else the
application's name without its volatile parts; of other engines the job's own name, for there the job is the unit.
`docs/concepts/job-identity.md` shows what becomes of each kind of name.

The names that platforms give are described where they are taken apart, in `volatile.py` and `databricks.py`.
"""

import re
from collections.abc import Iterable, Mapping
from enum import IntEnum
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import msgspec

from shared.naming.datasets.identity import Identity
from shared.naming.rules.rule import bounded
from shared.openlineage.operations import UNKNOWN, split_job_name
from shared.openlineage.run import MergedRun
from shared.secrets import text_without_secrets
from shared.translation.job.databricks import job, notebook, without_host
from shared.translation.job.volatile_names import VOLATILE, VolatilePart, is_generic, stable_name
from shared.versions import NAMING

__all__ = [
    "OURS",
    "VOLATILE",
    "JobIdentity",
    "Strength",
    "VolatilePart",
    "application_name",
    "generic_identity",
    "identify",
    "identity_of",
    "inherit",
    "name_process",
    "naming_of",
    "process_name",
    "stable_name",
    "strongest",
]

OURS = "throughline:"
"""How the qualified names of all processes begin that are ours."""

LONGEST = 1000
"""Characters. Catalogs bound names at 4 KB, and a real Atlas slows down long before."""

_SPARK = frozenset({"", "SPARK"})
"""Integrations whose jobs are only steps of an application. Old listeners leave the word out of some events."""

_DBT_BUILD = ".build."
"""`dbt build` calls a model `<model>.build.run` and a snapshot `<snapshot>.build.snapshot`; `dbt run` and
`dbt snapshot` call the same two `<model>` and `<snapshot>.snapshot`."""


class Strength(IntEnum):
    """How well an identity tells jobs apart. WEAK ones are names that many jobs share, such as `databricks_shell`."""

    GENERIC = 0
    APPLICATION = 1
    JOB = 2
    NOTEBOOK = 3

    @property
    def is_strong(self) -> bool:
        """Whether the platform itself told which job it is; an application's name is only what its author chose."""
        return self >= _STRONG


_SHARED, _STRONG = Strength.GENERIC, Strength.JOB


class JobIdentity(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False):
    """What a job is called for ever, and how well that tells it from others."""

    strength: Strength
    name: str

    @property
    def is_generic(self) -> bool:
        """Whether many jobs share the name."""
        return self.strength == _SHARED


def identify(
    job_name: str, application_name: str | None, properties: Mapping[str, Any], *, integration: str = "SPARK"
) -> JobIdentity:
    """The identity that one run tells: by its job's name, the name of its parent (None without one), its
    `environment-properties` and the integration that `jobType` names (empty where it does not).

    Anything may stand in them: what is not understood is passed over.
    """
    if integration.upper() not in _SPARK:
        short = len(job_name) + len(integration) <= _SHORT
        return (_remembered_own if short else _own_name)(job_name, integration.upper())
    if properties and (path := notebook(properties)):
        return JobIdentity(strength=Strength.NOTEBOOK, name=f"notebook {path}")
    if properties and (told := job(properties)):
        return JobIdentity(strength=Strength.JOB, name=f"job {told}")
    application = _application(job_name, application_name)
    return (_remembered_name if len(application) <= _SHORT else _by_name)(application)


def _by_name(application: str) -> JobIdentity:
    name = stable_name(without_host(application))
    return JobIdentity(strength=Strength.GENERIC if is_generic(name) else Strength.APPLICATION, name=name)


_SHORT = 1000
"""Characters. What is longer is not remembered: a sender must not choose how much memory we keep."""

_remembered_name = lru_cache(maxsize=4096)(_by_name)


_NOT_YET = "unknown"
"""What the listener calls a parent whose application's name it has not heard yet; its own jobs it names rightly."""


def _application(job_name: str, application_name: str | None) -> str:
    """The application's name as it stands in the events: the parent's, else what stands before the job's node."""
    if application_name is not None and application_name != _NOT_YET:
        return application_name
    before, operation = split_job_name(job_name)
    return before if operation is not UNKNOWN or application_name is None else job_name.partition(".")[0]


def _own_name(job_name: str, integration: str) -> JobIdentity:
    name = job_name
    if integration == "DBT":
        before, build, kind = name.rpartition(_DBT_BUILD)
        if build and "." not in kind:
            name = before if kind == "run" else f"{before}.{kind}"
    name = stable_name(name)
    return JobIdentity(strength=Strength.GENERIC if is_generic(name) else Strength.JOB, name=name)


_remembered_own = lru_cache(maxsize=4096)(_own_name)


def strongest(identities: Iterable[JobIdentity]) -> tuple[JobIdentity, ...]:
    """What has to be known of an application's runs to inherit from them: the strong identities of the highest
    strength, the first two of them in order: enough to tell none, one and several apart.

    Summaries add up: `strongest(a + b) == strongest(strongest(a) + strongest(b))`, so that one can be kept in a row.
    """
    strong = {identity for identity in identities if identity.strength.is_strong}
    highest = max((identity.strength for identity in strong), default=None)
    return tuple(sorted(identity for identity in strong if identity.strength == highest)[:2])


def inherit(own: JobIdentity, known_in_application: Iterable[JobIdentity]) -> JobIdentity:
    """The identity of a run, given those of the runs of its application (its own may be among them), or their
    `strongest`.

    A run that tells no strong identity itself takes that of the others when they have exactly one: Databricks tells
    its properties only where a Spark job starts. It depends on the set alone, never on its order or its size.
    """
    known_in_application = tuple(known_in_application)
    if not known_in_application or own.strength.is_strong:
        return own
    known = strongest(known_in_application)
    return known[0] if len(known) == 1 else own


def identity_of(run: MergedRun) -> JobIdentity:
    """The identity that a merged run tells by itself."""
    return identify(
        run.job.name,
        run.application.name if run.application else None,
        run.properties,
        integration=run.integration,
    )


def generic_identity(run: MergedRun) -> JobIdentity | None:
    """The identity of a Spark run without what its platform tells of it, where that is a name which many jobs share."""
    if run.integration.upper() not in _SPARK:
        return None
    bare = identify(run.job.name, run.application.name if run.application else None, {})
    return bare if bare.is_generic else None


def name_process(namespace: str, identity: JobIdentity, sink: Identity, *, version: str = NAMING) -> tuple[str, str]:
    """Qualified name and display name of the process by which a job of this namespace writes `sink`, in this version of
    the naming.
    """
    short = len(namespace) + len(identity.name) + len(sink.namespace) + len(sink.name) <= _SHORT
    return (_remembered_process if short else _named)(namespace, identity, sink, version)


def _named(namespace: str, identity: JobIdentity, sink: Identity, version: str) -> tuple[str, str]:
    place = f"{sink.namespace}/{sink.name.lstrip('/')}"
    namespace, job_name = text_without_secrets(namespace), text_without_secrets(identity.name)
    qualified = f"{OURS}{version}://{quote(namespace, safe='')}/{quote(job_name, safe=' ')}/{place}"
    name = f"{job_name} → {sink.name.rsplit('/', 1)[-1] or sink.namespace}"
    return bounded(qualified, LONGEST), bounded(name, LONGEST)


_remembered_process = lru_cache(maxsize=4096)(_named)

_VERSIONED = re.compile(r"throughline:([^:/]+)://")


def naming_of(qualified_name: str) -> str:
    """The version of the naming that a process's qualified name is of; empty for a name that is none of ours."""
    found = _VERSIONED.match(qualified_name)
    return found[1] if found else ""


def process_name(run: MergedRun, sink: Identity) -> tuple[str, str]:
    """Qualified name and display name of the process by which this run's job writes `sink`, by what it tells itself."""
    namespace = run.application.namespace if run.application else run.job.namespace
    return name_process(namespace, identity_of(run), sink)


def application_name(run: MergedRun) -> str:
    """The name of `identity_of`."""
    return identity_of(run).name
