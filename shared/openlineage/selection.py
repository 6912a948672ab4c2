"""Select events: drop only those that no run's lineage can need.

Each event is judged by itself, so everything that may matter together with other events is kept: events that name a
data set, end a run, may start an application, carry properties that other runs inherit, or have unreadable parts.
Settings may keep or ignore further operations, and exclude whole jobs and namespaces, by glob patterns.

Filters of paths drop no event: lineage passes through excluded data sets, and what was read must not be forgotten.
Excluded data sets leave when processes are aggregated (`shared.translation.aggregate`).

The operations of jobs are a table, from the plan node in a Spark job's name to a normalised operation.

A Spark job is named `{application}.{node}[.{target}]`, where the node is the normalised name of the physical root
node. The same write may be `adaptive_spark_plan` or `execute_insert_into_…` depending on whether its plan was
shuffled, so both are one operation here. Nodes are matched anywhere in the name, never by position: applications and
targets contain dots. Listeners before 1.1 wrote underscores for all dots.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import translate
from functools import cache, lru_cache

from shared.openlineage.decoding import Event
from shared.openlineage.wire import RunEvent


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Operation:
    """A row of the table: the node's `pattern`, the operation's `name`, and the `reason` why it matters or not. Rows
    are compared by identity.

    `moves_data` is false for operations that only change a definition, and for `idle` ones, which no lineage can need.
    `by_verb`: the job's SQL decides between MERGE, UPDATE and DELETE, not the node.
    """

    pattern: str
    name: str
    reason: str
    moves_data: bool = True
    idle: bool = False
    by_verb: bool = False


def _changes(name: str, pattern: str) -> Operation:
    return Operation(pattern=pattern, name=name, reason="reads a table and writes the same one")


def _writes(name: str, reason: str, pattern: str) -> Operation:
    return Operation(pattern=pattern, name=name, reason=reason)


def _defines(name: str, pattern: str) -> Operation:
    return Operation(
        pattern=pattern, name=name, reason="moves no data but changes a table as a whole", moves_data=False
    )


def _idle(reason: str, pattern: str) -> Operation:
    return Operation(pattern=pattern, name="none", reason=reason, moves_data=False, idle=True)


OPERATIONS: tuple[Operation, ...] = (
    _changes("merge", r"execute_merge_into_command(?:_edge)?"),
    _changes("update", r"execute_update_command(?:_edge)?"),
    _changes("delete", r"execute_delete_command(?:_edge)?|delete_from_table"),
    _writes("copy", "loads files into a table", r"execute_copy_into_command(?:_edge)?"),
    _writes("load", "loads files into a table", r"execute_load_data_command"),
    _writes(
        "ctas",
        "creates a table from a query",
        r"execute_create_data_source_table_as_select_command"
        r"|execute_(?:optimized_)?create_hive_table_as_select_command"
        r"|(?:atomic_)?create_table_as_select",
    ),
    _writes("rtas", "replaces a table by a query's rows", r"(?:atomic_)?replace_table_as_select"),
    _writes(
        "insert",
        "writes a query's rows",
        r"execute_insert_into_hadoop_fs_relation_command|execute_insert_into_hive_(?:table|dir_command)"
        r"|execute_insert_into_data_source_(?:dir_)?command|execute_save_into_data_source_command"
        r"|append_data(?:_exec_v1)?|overwrite_by_expression(?:_exec_v1)?|overwrite_partitions_dynamic"
        r"|execute_delta_dynamic_partition_overwrite_command|write_to_data_source_v2|adaptive_spark_plan|project",
    ),
    Operation(
        pattern=r"replace_data|write_delta", name="insert", reason="rewrites rows of an Iceberg table", by_verb=True
    ),
    _defines("create_table", r"execute_create_(?:data_source_)?table(?:_like)?_command|create_table"),
    _defines("replace_table", r"(?:atomic_)?replace_table"),
    _defines("drop_table", r"execute_drop_table_command|drop_table"),
    _defines("truncate_table", r"execute_truncate_table_command"),
    _defines("alter_table", r"execute_alter_table_\w{1,60}_command|alter_table|execute_repair_table_command"),
    _idle("lists the catalog", r"execute_show_\w{1,60}_command|show_\w+"),
    _idle("describes the catalog", r"execute_describe_\w+|describe_\w+"),
    _idle("explains a plan", r"execute_explain_command"),
    _idle("shows what a command gave, which ran before", r"command_result"),
    _idle("sets an option", r"execute_set_(?:catalog_)?command|set_catalog_and_namespace"),
)
"""The first node in the name that matches as a whole word decides; of two rows that match, the first."""

UNKNOWN = Operation(pattern="", name="write", reason="is a write if it has outputs")
"""Any node that no row matches."""

DECLARED = Operation(pattern="", name="declared", reason="says what a data set without a job is made of")
"""What has no job of its own: a data set event, the exposures of a table of dbt."""
EXPOSURE = "EXPOSURE"
"""The type of the job that stands for the exposures of a table."""
DECLARED_JOBS = frozenset({"DATASET", EXPOSURE})
"""The types of jobs that stand for such a data set. Their names are those of data sets, so no node is looked for."""

_BY_NAME = {row.name: row for row in OPERATIONS}

HIVE_OPERATIONS: dict[str, Operation] = {
    "CREATETABLE_AS_SELECT": _BY_NAME["ctas"],
    "EXPORT": _BY_NAME["copy"],
    "IMPORT": _BY_NAME["copy"],
    "LOAD": _BY_NAME["load"],
    "QUERY": Operation(pattern="", name="insert", reason="writes a query's rows, or changes some", by_verb=True),
}
"""Operations by Hive's names of them, which its hook sends for those that it reports."""

_ROWS = {f"row{number}": row for number, row in enumerate(OPERATIONS)}


def _one_of(rows: dict[str, Operation]) -> str:
    return "|".join(f"(?P<{group}>{row.pattern})" for group, row in rows.items())


_NODE = re.compile(rf"[.](?:{_one_of(_ROWS)})(?=[.]|$)")
_ALONE = re.compile(rf"(?:{_one_of(_ROWS)})(?=[.]|$)")
_MATTERING = {group: row for group, row in _ROWS.items() if not row.idle}
_UNDERSCORED = re.compile(rf"_(?=execute_|adaptive_spark_plan)(?:{_one_of(_MATTERING)})(?=_|$)")
"""Only nodes that are unlikely names of applications or tables, and none that would drop an event."""


def split_job_name(name: str, application: str = "") -> tuple[str, Operation]:
    """The application's part of a Spark job's name, and its operation.

    `application` is the parent run's job name: where the job's name starts with it, no node is looked for in it (an
    application may be named `project`). Returns the whole name and UNKNOWN if it has no known node.
    """
    return (_remembered if len(name) + len(application) <= _SHORT else _split)(name, application)


def _split(name: str, application: str) -> tuple[str, Operation]:
    match = _node(name, application)
    if match is None:
        return name, UNKNOWN
    return name[: match.start()], _ROWS[match.lastgroup or ""]


_SHORT = 1000
"""Characters. Longer names are not cached: senders must not decide how much memory is used."""

_remembered = lru_cache(maxsize=4096)(_split)


def node_of(name: str, application: str = "") -> str:
    """The node in a Spark job's name: a known one, else the part after the application's name, else empty."""
    match = _node(name, application)
    if match:
        return match[0].lstrip("._")
    if application and name.startswith(f"{application}."):
        return name[len(application) + 1 :].partition(".")[0]
    return ""


def _node(name: str, application: str) -> re.Match[str] | None:
    if application and name.startswith(f"{application}."):
        return _NODE.search(name, len(application))
    return _NODE.search(name) or _ALONE.match(name) or (None if "." in name else _UNDERSCORED.search(name))


_WILDCARDS = re.compile(r"[*?]")


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobFilter:
    """Patterns of whole names. Excluded names are rejected, and if `include` is not empty, all that match none of it.

    `*` stands for any characters, `?` for one; nothing else is special. Case counts unless `ignore_case`.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    ignore_case: bool = False

    def excludes(self, names: Iterable[str]) -> bool:
        """Whether one of a thing's names is excluded."""
        return bool(self.exclude) and _any(self.exclude, names, ignore_case=self.ignore_case)

    def accepts(self, names: Iterable[str]) -> bool:
        """Whether a thing with these names is accepted."""
        all_names = tuple(names)
        if self.excludes(all_names):
            return False
        return not self.include or _any(self.include, all_names, ignore_case=self.ignore_case)

    def may_accept_below(self, name: str) -> bool:
        """Whether a name that begins with this one and a dot could be accepted."""
        starts = (_WILDCARDS.split(pattern, maxsplit=1)[0] for pattern in self.include)
        return not self.include or any(f"{name}.".startswith(start) or start.startswith(f"{name}.") for start in starts)


MATCH_ALL = GlobFilter()
"""Accepts every name."""


def _any(patterns: tuple[str, ...], names: Iterable[str], *, ignore_case: bool) -> bool:
    pattern = _compiled(patterns, ignore_case)
    return any(pattern.fullmatch(name) for name in names)


@cache
def _compiled(patterns: tuple[str, ...], ignore_case: bool) -> re.Pattern[str]:
    """Patterns of fnmatch, which do not backtrack twice; but `[` stands for itself, as in `[dbo].[orders]`."""
    text = "|".join(translate(pattern.replace("[", "[[]")) for pattern in patterns)
    return re.compile(text, re.IGNORECASE if ignore_case else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignore:
    """The event is not needed, for this `reason`."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """The event is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """The settings: operations (nodes in Spark's job names) as patterns with `*` and `?`; filters of jobs and of their
    namespaces.

    Events of operations in `ignore` are dropped; `keep` goes before `ignore` and before the built-in rules. An
    application's own events are kept if any of its jobs may be accepted. Excluded jobs and namespaces are dropped in
    any case.
    """

    ignore: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    jobs: GlobFilter = MATCH_ALL
    namespaces: GlobFilter = MATCH_ALL


DEFAULT_SELECTION = EventFilter()
"""The built-in rules alone."""

_KEEP = Keep()
_NO_RUN = Ignore(reason="job or data set event without a run")
_OPERATION_IGNORED = Ignore(reason="operation ignored by the settings")
_IRRELEVANT = Ignore(reason="names no data set and ends no run")
_NAMESPACE_EXCLUDED = Ignore(reason="excluded by namespace")
_NAMESPACE_NOT_INCLUDED = Ignore(reason="namespace not included")
_JOB_EXCLUDED = Ignore(reason="excluded by job")
_JOB_NOT_INCLUDED = Ignore(reason="job not included")
BY_SETTINGS = frozenset(
    ignored.reason
    for ignored in (
        _OPERATION_IGNORED,
        _NAMESPACE_EXCLUDED,
        _NAMESPACE_NOT_INCLUDED,
        _JOB_EXCLUDED,
        _JOB_NOT_INCLUDED,
    )
)
"""The reasons that are settings: such an event might have had lineage."""
CHECKS = "throughline-check"
"""The namespace of the jobs by which Throughline checks itself, as `canary` does. No setting excludes it."""
CHECK_APPLICATION = "throughline_check"
"""How the names of such jobs begin."""
CHECK = "check"
"""Why their events count as skipped: they are processed like others, and withdrawn with a FAIL of their run."""
NO_WRITE = frozenset({"START", "FAIL", "ABORT"})
"""Types of events whose outputs are not written: not yet, or not at all."""

_MAY_STAND_ALONE = frozenset({"START", "COMPLETE", "FAIL", "ABORT"})
"""Event types that matter without data sets: they start or end a run."""


def select(event: Event, selection: EventFilter = DEFAULT_SELECTION) -> Keep | Ignore:
    """Keep or Ignore, for one decoded event."""
    body = event.body
    if body is None:
        return _NO_RUN
    if body.job.namespace == CHECKS:
        return _KEEP
    if selection is not DEFAULT_SELECTION and (excluded := _excluded(body, selection)):
        return excluded
    parent = body.parent
    if parent is None:
        return _KEEP
    is_kept = bool(selection.keep) and _matches(selection.keep, body.job.name, parent.job.name)
    if selection.ignore and not is_kept and _matches(selection.ignore, body.job.name, parent.job.name):
        return _OPERATION_IGNORED
    if event.omitted or _carries_properties(body):
        return _KEEP
    if is_kept or body.inputs or body.outputs:
        return _KEEP
    operation = split_job_name(body.job.name, parent.job.name)[1] if _is_spark(body) else UNKNOWN
    if operation.idle:
        return Ignore(reason=operation.reason)
    return _KEEP if body.event_type in _MAY_STAND_ALONE else _IRRELEVANT


def _excluded(body: RunEvent, selection: EventFilter) -> Ignore | None:
    """Why the job is excluded, if it is. It depends on names alone: the same for all events of a run."""
    if not selection.namespaces.accepts((body.job.namespace,)):
        by_pattern = selection.namespaces.excludes((body.job.namespace,))
        return _NAMESPACE_EXCLUDED if by_pattern else _NAMESPACE_NOT_INCLUDED
    if selection.jobs == MATCH_ALL:
        return None
    names = set(_names_of(body))
    if selection.jobs.accepts(names):
        return None
    if selection.jobs.excludes(names):
        return _JOB_EXCLUDED
    return None if _is_application(body) and selection.jobs.may_accept_below(body.job.name) else _JOB_NOT_INCLUDED


def _names_of(body: RunEvent) -> Iterator[str]:
    """A job's own name and, of a Spark job, its application's. Other parents (an orchestrator's task) do not count:
    only some of the runs below them name them.
    """
    name, parent = body.job.name, body.parent
    yield name
    if parent and name.startswith(f"{parent.job.name}."):
        yield parent.job.name
    if body.job_type.integration in {"SPARK", "", None}:
        yield split_job_name(name, parent.job.name if parent else "")[0]


def _is_application(body: RunEvent) -> bool:
    """Whether the event may be an application's own: without a parent, or of job type APPLICATION."""
    return body.parent is None or (body.job_type.job_type or "").upper() == "APPLICATION"


def _carries_properties(body: RunEvent) -> bool:
    properties = body.run.facets.environment_properties if body.run.facets else None
    return bool(properties and properties.values)


def _is_spark(body: RunEvent) -> bool:
    """Only Spark puts plan nodes into job names; elsewhere such words are the user's."""
    return body.job_type.integration == "SPARK"


def _matches(patterns: tuple[str, ...], name: str, application: str) -> bool:
    return bool(_any_of(patterns).match(node_of(name, application)))


@cache
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, patterns)))
