"""Who wrote: a process's name, which stays the same for ever while job and sink do.

It is made of the job's namespace, the application's name without its volatile parts, and the sink's canonical
identity; never of the inputs, of Spark's node names or of a run.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from shared.naming import Identity, bounded
from shared.openlineage import MergedRun, split_job_name

VERSION = "v1"
"""The version of this naming; it stands in every qualified name."""

_LONGEST = 1000
"""Characters. Catalogs bound names at 4 KB, and a real Atlas slows down long before."""

_EDGE = r"(?:^|(?<=[^0-9A-Za-z]))"
_END = r"(?=[^0-9A-Za-z]|$)"


@dataclass(frozen=True, slots=True, kw_only=True)
class VolatilePart:
    """A part of an application's name that changes from run to run; `example` shows one."""

    name: str
    pattern: re.Pattern[str]
    example: str


def _part(name: str, pattern: str, example: str) -> VolatilePart:
    return VolatilePart(name=name, pattern=re.compile(_EDGE + pattern + _END, re.IGNORECASE), example=example)


VOLATILE: tuple[VolatilePart, ...] = (
    _part("uuid", r"[0-9a-f]{8}(?:[-_]?[0-9a-f]{4}){3}[-_]?[0-9a-f]{12}", "load_3f2504e0-4f89-41d3-9a0c-0305e82c3301"),
    _part(
        "yarn id",
        r"(?:(?:app(?:lication|attempt)|job|attempt)_\d{10,}(?:_[mr])?|container(?:_e\d+)?_\d{10,})(?:_\d+)+",
        "load appattempt_1650268838000_0001_000002",
    ),
    _part(
        "time",
        r"(?:19|20)\d\d[-_.]?(?:0[1-9]|1[0-2])[-_.]?(?:0[1-9]|[12]\d|3[01])"
        r"(?:[ _-]?t?[ _-]?(?:[01]\d|2[0-3])[-_.:]?[0-5]\d(?:[-_.:]?[0-5]\d(?:[.,_]\d{1,9})?)?"
        r"(?:_?z|[+-]\d\d:?\d\d)?)?",
        "daily 2026-11-21T04:00:00Z",
    ),
    _part("attempt", r"[(\[]?(?:attempt|retry|try)[-_ #]?\d+[)\]]?", "load_attempt_2"),
    _part("livy session", r"livy[-_ ]session[-_ ]\d+", "load livy-session-7"),
    _part("session id", r"\d{8,}", "Notebook_pool_1650268838"),
)
"""In order. What remains is joined again with single separators."""

_SEPARATORS = " \t\n_-.:#"
_UNNAMED = "unnamed"
"""What is called by nothing but volatile parts: Spark gives an application without a name a UUID."""


def stable_name(name: str) -> str:
    """The application's name without its volatile parts; `unnamed` where nothing remains."""
    marked = name
    for part in VOLATILE:
        marked = part.pattern.sub("\0", marked)
    if marked == name:
        return name
    kept = (part.strip(_SEPARATORS) for part in marked.split("\0"))
    return "_".join(part for part in kept if part) or _UNNAMED


_DATABRICKS: tuple[tuple[str, str], ...] = (
    ("spark.databricks.notebook.path", "notebook {}"),
    ("spark.databricks.job.id", "job {}"),
)
_COMMIT = re.compile(r"(?<=/Repos/\.internal/)[0-9a-f]{8,}_commits/[0-9a-f]{8,}/")


def application_name(run: MergedRun) -> str:
    """The stable name of what the user started: a Databricks notebook or job where the run tells it, else the
    application (the parent job, or the part of the job's own name that stands before Spark's node).
    """
    told = _databricks(run.properties)
    if told:
        return told
    return stable_name(run.application.name if run.application else split_job_name(run.job.name)[0])


def _databricks(properties: Mapping[str, Any]) -> str | None:
    for key, form in _DATABRICKS:
        value = properties.get(key)
        if isinstance(value, str) and value:
            return form.format(_COMMIT.sub("", value))
    return None


def process_name(run: MergedRun, sink: Identity) -> tuple[str, str]:
    """Qualified name and display name of the process by which this run's job writes `sink`."""
    namespace = run.application.namespace if run.application else run.job.namespace
    application = application_name(run)
    place = f"{sink.namespace}/{sink.name.lstrip('/')}"
    qualified = f"throughline:{VERSION}://{quote(namespace, safe='')}/{quote(application, safe=' ')}/{place}"
    name = f"{application} → {sink.name.rsplit('/', 1)[-1] or sink.namespace}"
    return bounded(qualified, _LONGEST), bounded(name, _LONGEST)
