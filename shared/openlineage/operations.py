"""What Spark's nodes do, as data: from the node in a job's name to a normalised operation.

A Spark job is called `{application}.{node}[.{target}]`, where the node is the normalised name of the physical root
node. The same write may be called `adaptive_spark_plan` or `execute_insert_into_…` depending on whether its plan was
shuffled, so both are one operation here. Nodes are matched anywhere in the name, never by position: applications and
targets hold dots of their own.
"""

import re
from dataclasses import dataclass
from operator import itemgetter


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A row of the table: `pattern` of the node and `name` of the operation.

    `moves_data` is false for what only changes a definition; `idle_reason` says why no run's lineage can need it.
    """

    pattern: str
    name: str
    moves_data: bool = True
    idle_reason: str = ""


def _defines(pattern: str, name: str) -> Operation:
    return Operation(pattern=pattern, name=name, moves_data=False)


def _idle(pattern: str, reason: str) -> Operation:
    return Operation(pattern=pattern, name="none", moves_data=False, idle_reason=reason)


OPERATIONS: tuple[Operation, ...] = (
    Operation(pattern=r"execute_merge_into_command(?:_edge)?", name="merge"),
    Operation(pattern=r"execute_update_command(?:_edge)?", name="update"),
    Operation(pattern=r"execute_delete_command(?:_edge)?|delete_from_table", name="delete"),
    Operation(pattern=r"execute_copy_into_command(?:_edge)?", name="copy"),
    Operation(pattern=r"execute_load_data_command", name="load"),
    Operation(
        pattern=r"execute_create_data_source_table_as_select_command"
        r"|execute_(?:optimized_)?create_hive_table_as_select_command"
        r"|(?:atomic_)?create_table_as_select",
        name="ctas",
    ),
    Operation(pattern=r"(?:atomic_)?replace_table_as_select", name="rtas"),
    Operation(
        pattern=r"execute_insert_into_hadoop_fs_relation_command|execute_insert_into_hive_(?:table|dir_command)"
        r"|execute_insert_into_data_source_(?:dir_)?command|execute_save_into_data_source_command"
        r"|append_data(?:_exec_v1)?|overwrite_by_expression(?:_exec_v1)?|overwrite_partitions_dynamic"
        r"|replace_data|write_delta|write_to_data_source_v2|adaptive_spark_plan|project",
        name="insert",
    ),
    _defines(r"execute_create_(?:data_source_)?table(?:_like)?_command|create_table", "create_table"),
    _defines(r"(?:atomic_)?replace_table", "replace_table"),
    _defines(r"execute_drop_table_command|drop_table", "drop_table"),
    _defines(r"execute_truncate_table_command", "truncate_table"),
    _defines(r"execute_alter_table_\w+_command|alter_table|execute_repair_table_command", "alter_table"),
    _idle(r"execute_show_\w+_command|show_\w+", "lists the catalog"),
    _idle(r"execute_describe_\w+|describe_\w+", "describes the catalog"),
    _idle(r"execute_explain_command", "explains a plan"),
    _idle(r"execute_set_(?:catalog_)?command|set_catalog_and_namespace", "sets an option"),
)
"""The node that stands first in the name, as a whole word, decides."""

UNKNOWN = Operation(pattern="", name="write")
"""What has outputs and no row above is a write all the same."""

_NODES = tuple((re.compile(rf"[.](?:{row.pattern})(?=[.]|$)"), row) for row in OPERATIONS)


def split_job_name(name: str, application: str = "") -> tuple[str, Operation]:
    """The application's part of a Spark job's name, and its operation.

    `application` is its name as the parent run tells it: where the job's name starts with it, nothing in it is taken
    for a node, as in an application that is called `project` itself. The whole name and UNKNOWN when no known
    node stands in it.
    """
    start = len(application) if name.startswith(f"{application}.") else 0
    found = ((node.search(name, start), row) for node, row in _NODES)
    first = min(((match.start(), row) for match, row in found if match), key=itemgetter(0), default=None)
    if first:
        return name[: first[0]], first[1]
    alone = f".{name}"
    return next((("", row) for node, row in _NODES if node.match(alone)), (name, UNKNOWN))
