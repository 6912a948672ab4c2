"""Operations: a table from the plan node in a Spark job's name to a normalised operation.

A Spark job is named `{application}.{node}[.{target}]`, where the node is the normalised name of the physical root
node. The same write may be `adaptive_spark_plan` or `execute_insert_into_…` depending on whether its plan was
shuffled, so both are one operation here. Nodes are matched anywhere in the name, never by position: applications and
targets contain dots. Listeners before 1.1 wrote underscores for all dots.
"""

import re
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A row of the table: the node's `pattern`, the operation's `name`, and the `reason` why it matters or not.

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


def _any_of(rows: dict[str, Operation]) -> str:
    return "|".join(f"(?P<{group}>{row.pattern})" for group, row in rows.items())


_NODE = re.compile(rf"[.](?:{_any_of(_ROWS)})(?=[.]|$)")
_ALONE = re.compile(rf"(?:{_any_of(_ROWS)})(?=[.]|$)")
_MATTERING = {group: row for group, row in _ROWS.items() if not row.idle}
_UNDERSCORED = re.compile(rf"_(?=execute_|adaptive_spark_plan)(?:{_any_of(_MATTERING)})(?=_|$)")
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
