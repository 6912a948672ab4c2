"""Job identities and process names, which are stable as long as job and sink are.

A process's name is made of the job's namespace, the job's identity and the sink's canonical location; never of inputs,
Spark's node names or a run. A job's identity is a Databricks notebook or job, else the application's name without its
volatile parts (`job_names`); of other engines the job's own name. See `docs/concepts/job-identity.md`.
"""

import re
from collections.abc import Iterable, Mapping
from enum import IntEnum
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import msgspec

from shared.naming.stores.families import Identity, bounded, table_shown
from shared.openlineage.run import MergedRun
from shared.openlineage.selection import CHECKS, UNKNOWN, split_job_name
from shared.secrets import text_without_secrets
from shared.translation.process.job_names import is_generic, job, notebook, stable_name, without_host
from shared.versions import NAMING

OURS = "throughline:"
"""Prefix of the qualified names of all our processes."""

MAX_NAME_LENGTH = 1000
"""Characters. Catalogs limit names to 4 KB, and a real Atlas slows down long before."""

_SPARK = frozenset({"", "SPARK"})
"""Integrations whose jobs are steps of an application. Old listeners omit the field in some events."""

_DBT_BUILD = ".build."
"""`dbt build` names a model `<model>.build.run` and a snapshot `<snapshot>.build.snapshot`; `dbt run` and
`dbt snapshot` name the same two `<model>` and `<snapshot>.snapshot`."""


_TASK = re.compile(r".\.\d{1,4}$")
"""Debezium names a job by its connector and the number of the task; all tasks copy the same tables."""


class Strength(IntEnum):
    """How well an identity distinguishes jobs. Many jobs share a GENERIC name, such as `databricks_shell`."""

    GENERIC = 0
    APPLICATION = 1
    JOB = 2
    NOTEBOOK = 3

    @property
    def is_strong(self) -> bool:
        """Whether the platform identifies the job; an application's name is merely its author's choice."""
        return self >= _STRONG


_GENERIC, _STRONG = Strength.GENERIC, Strength.JOB


class JobIdentity(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False):
    """A job's stable name, and how well it distinguishes the job."""

    strength: Strength
    name: str

    @property
    def is_generic(self) -> bool:
        """Whether many jobs share the name."""
        return self.strength == _GENERIC


def identify(
    job_name: str, application_name: str | None, properties: Mapping[str, Any], *, integration: str = "SPARK"
) -> JobIdentity:
    """The identity by one run's data: its job's name, its parent's (None without one), its `environment-properties`,
    and the `jobType` facet's integration (may be empty). Invalid properties are ignored.
    """
    if integration.upper() not in _SPARK:
        short = len(job_name) + len(integration) <= _SHORT
        return (_remembered_own if short else _own_name)(job_name, integration.upper())
    if properties and (path := notebook(properties)):
        return JobIdentity(strength=Strength.NOTEBOOK, name=f"notebook {path}")
    if properties and (name := job(properties)):
        return JobIdentity(strength=Strength.JOB, name=f"job {name}")
    application = _application(job_name, application_name)
    return (_remembered_name if len(application) <= _SHORT else _by_name)(application)


def _by_name(application: str) -> JobIdentity:
    name = stable_name(without_host(application))
    return JobIdentity(strength=Strength.GENERIC if is_generic(name) else Strength.APPLICATION, name=name)


_SHORT = 1000
"""Characters. Longer texts are not cached: senders must not decide how much memory is used."""

_remembered_name = lru_cache(maxsize=4096)(_by_name)


_NOT_YET = "unknown"
"""The listener's parent name before it knows the application's; names of the jobs themselves are right."""


def _application(job_name: str, application_name: str | None) -> str:
    """The application's name in the events: the parent's, else the part before the node in the job's name."""
    if application_name is not None and application_name != _NOT_YET:
        return application_name
    prefix, operation = split_job_name(job_name)
    return prefix if operation is not UNKNOWN or application_name is None else job_name.partition(".")[0]


def _own_name(job_name: str, integration: str) -> JobIdentity:
    name = job_name
    if integration == "DBT":
        prefix, build, kind = name.rpartition(_DBT_BUILD)
        if build and "." not in kind:
            name = prefix if kind == "run" else f"{prefix}.{kind}"
    elif integration == "DEBEZIUM" and _TASK.search(name):
        name = name.rpartition(".")[0]
    name = stable_name(name)
    return JobIdentity(strength=Strength.GENERIC if is_generic(name) else Strength.JOB, name=name)


_remembered_own = lru_cache(maxsize=4096)(_own_name)


def strongest(identities: Iterable[JobIdentity]) -> tuple[JobIdentity, ...]:
    """The first two, in order, of the strong identities of the highest strength: enough to distinguish none, one and
    several.

    Associative: `strongest(a + b) == strongest(strongest(a) + strongest(b))`, so it can be kept in a row.
    """
    strong = {identity for identity in identities if identity.strength.is_strong}
    highest = max((identity.strength for identity in strong), default=None)
    return tuple(sorted(identity for identity in strong if identity.strength == highest)[:2])


def inherit(own_identity: JobIdentity, known_in_application: Iterable[JobIdentity]) -> JobIdentity:
    """A run's identity given those of all runs of its application, or their `strongest`.

    A run without a strong identity inherits the only one of the others: Databricks sends its properties only when a
    Spark job starts. The result depends on the set of identities alone.
    """
    known_in_application = tuple(known_in_application)
    if not known_in_application or own_identity.strength.is_strong:
        return own_identity
    candidates = strongest(known_in_application)
    return candidates[0] if len(candidates) == 1 else own_identity


def identity_of(run: MergedRun) -> JobIdentity:
    """The identity of a merged run by itself."""
    return identify(
        run.job.name,
        run.application.name if run.application else None,
        run.properties,
        integration=run.integration,
    )


def generic_identity(run: MergedRun) -> JobIdentity | None:
    """A Spark run's identity without its platform's properties, if that is generic."""
    if run.integration.upper() not in _SPARK:
        return None
    identity = identify(run.job.name, run.application.name if run.application else None, {})
    return identity if identity.is_generic else None


def is_check(qualified_name: str) -> bool:
    """Whether a process, by its qualified name, is one by which Throughline checks itself, and no lineage."""
    return qualified_name.startswith(OURS) and qualified_name.partition("://")[2].startswith(f"{CHECKS}/")


def name_process(
    namespace: str, identity: JobIdentity, sink: Identity, *, tables: tuple[str, ...] = (), version: str = NAMING
) -> tuple[str, str]:
    """Qualified name and display name of the process by which a job writes `sink`, in a version of the naming.

    `tables`: the sink's names in catalogs of tables, one of which is shown if the sink's folder is called by an id.
    """
    table = table_shown(sink.name, tables)
    short = len(namespace) + len(identity.name) + len(sink.namespace) + len(sink.name) + len(table) <= _SHORT
    return (_remembered_process if short else _named)(namespace, identity, sink, table, version)


def _named(namespace: str, identity: JobIdentity, sink: Identity, table: str, version: str) -> tuple[str, str]:
    namespace, job_name = text_without_secrets(namespace), text_without_secrets(identity.name)
    qualified = f"{OURS}{version}://{quote(namespace, safe='')}/{quote(job_name, safe=' ')}/{place_of(sink)}"
    return bounded(qualified, MAX_NAME_LENGTH), display_name(job_name, table or sink.name, sink.namespace)


_remembered_process = lru_cache(maxsize=4096)(_named)


def place_of(sink: Identity) -> str:
    """A sink's location as it ends a process's qualified name."""
    return f"{sink.namespace}/{sink.name.lstrip('/')}"


ARROW = " → "
"""Between the job and the sink in a process's display name."""


def display_name(job: str, sink: str, otherwise: str = "") -> str:
    """A process's display name: the job, and the last part of its sink's path (`otherwise` where that is empty). A job
    that is called like its sink is shown with the sink's folder, so that the name does not read as a loop.
    """
    *folders, last = sink.split("/")
    if folders and folders[-1] and last.casefold() == job.casefold():
        last = f"{folders[-1]}/{last}"
    return bounded(f"{job}{ARROW}{last or otherwise}", MAX_NAME_LENGTH)
