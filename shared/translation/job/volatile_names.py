"""Volatile parts of application names, which change from run to run, and generic names."""

import re
from dataclasses import dataclass

_EDGE = r"(?:^|(?<=[^0-9A-Za-z]))"
_END = r"(?=[^0-9A-Za-z]|$)"
_DAY = r"(?:19|20)\d\d[-_.]?(?:0[1-9]|1[0-2])[-_.]?(?:0[1-9]|[12]\d|3[01])"
_ZONE = r"(?:_?z|[+-]\d\d:?\d\d|_\d\d_\d\d)"
_CLOCK = rf"(?:[01]\d|2[0-3])[-_.:]?[0-5]\d(?:[-_.:]?[0-5]\d(?:(?:[.,_]\d{{1,9}})?{_ZONE}|[.,_]\d{{1,9}})?)?"
_TIME = rf"{_DAY}(?:[ _-]?t?[ _-]?{_CLOCK}{_ZONE}?)?"
"""A date, or a time to the minute, second or fraction, with or without a zone: as ISO 8601 writes it, without its
separators, or with an underscore for each, as the listener folds names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolatilePart:
    """A part of an application's name that changes from run to run; `example` shows one."""

    name: str
    pattern: re.Pattern[str]
    example: str


def _part(name: str, pattern: str, example: str) -> VolatilePart:
    return VolatilePart(name=name, pattern=re.compile(_EDGE + pattern + _END, re.IGNORECASE), example=example)


VOLATILE: tuple[VolatilePart, ...] = (
    _part("Glue job run", r"jr_[0-9a-f]{32,64}(?:_attempt_\d+)?", f"load-jr_{'0a1b2c3d' * 8}"),
    _part("uuid", r"[0-9a-f]{8}(?:[-_]?[0-9a-f]{4}){3}[-_]?[0-9a-f]{12}", "load_3f2504e0-4f89-41d3-9a0c-0305e82c3301"),
    _part("hash of a commit or a content", r"(?:[0-9a-f]{40}|[0-9a-f]{64})", f"load-{'0a1b2c3d4e' * 4}"),
    _part("ulid", r"0[0-9a-hjkmnp-tv-z]{25}", "load 01ARZ3NDEKTSV4RRFFQ69G5FAV"),
    _part(
        "yarn id",
        r"(?:(?:app(?:lication|attempt)|job|attempt)_\d{10,}(?:_[mr])?|container(?:_e\d+)?_\d{10,})(?:_\d+)+",
        "load appattempt_1650268838000_0001_000002",
    ),
    _part("EMR cluster or step", r"[js][-_]\d[0-9a-z]{11,20}", "load j-2AXXXXXXGAPLF"),
    _part(
        "Airflow run id",
        rf"(?:manual|scheduled|backfill|(?:dataset|asset|operator)_triggered)__{_TIME}",
        "load_manual__2026-11-21T04:00:00+00:00",
    ),
    _part("time", _TIME, "daily 2026-11-21T04:00:00Z"),
    _part("attempt", r"[(\[]?(?:attempt|retry|try)[-_ #]?\d+[)\]]?", "load_attempt_2"),
    _part("Livy session", r"livy[-_ ]session[-_ ]\d+", "load livy-session-7"),
    _part("SQL shell's host", r"(?<=sparksql::)[0-9a-z.:-]+", "SparkSQL::10.0.0.4"),
    _part("session id", r"\d{8,}", "Notebook_pool_1650268838"),
)
"""Removed in this order. The remaining parts are joined with single separators."""

_SEPARATORS = " \t\n_-.:#"
_UNNAMED = "unnamed"
"""The name of an application whose name has only volatile parts: Spark names an unnamed one by a UUID."""

_GLUE = re.compile(r"^nativespark[-_](?=.*[-_]jr_[0-9a-f]{32})", re.IGNORECASE)
"""AWS Glue names an application `nativespark-<job>-jr_<run>`; newer listeners send `<job>` (OpenLineage issue 4339)."""


def stable_name(name: str) -> str:
    """The application's name without its volatile parts; `unnamed` if nothing remains."""
    marked = _GLUE.sub("", name)
    for part in VOLATILE:
        marked = part.pattern.sub("\0", marked)
    if marked == name:
        return name
    kept = (part.strip(_SEPARATORS) for part in marked.split("\0"))
    return "_".join(part for part in kept if part) or _UNNAMED


_GENERIC = frozenset(
    {
        _UNNAMED,
        "apachetoree",
        "arrowspark",  # Airflow's Spark operators, when nobody gives a name
        "arrowsparksql",
        "databricksshell",
        "defaultarrowspark",
        "livysession",
        "pysparkshell",
        "remotesparkmagics",
        "spark",
        "sparkapplication",
        "sparkconnectserver",
        "sparklyr",
        "sparkr",
        "sparkshell",
        "sparksql",
        "sparksqlcli",
        "synapse",
        "synapsesession",
        "thriftjdbcodbcserver",
        "untitled",
        "zeppelin",
    }
)
"""Default names of shells, servers and notebook services, without case and separators."""

_SHARED = re.compile(
    r"synapse_session_|kyuubi_(?:connection|user|group|server)_|hc_"  # hc_: Fabric's high concurrency sessions
)
"""Prefixes of sessions that several jobs share."""


def is_generic(name: str) -> bool:
    """Whether a stable name does not identify a job, because many jobs share it."""
    folded = name.lower()
    return re.sub(r"[\W_]+", "", folded) in _GENERIC or _SHARED.match(folded.replace("-", "_")) is not None
