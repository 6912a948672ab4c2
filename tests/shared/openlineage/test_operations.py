"""Operations: every node that Spark's listener names, wherever it stands in a job's name."""

import pytest

from shared.openlineage.selection import UNKNOWN, node_of, split_job_name

NODES = {
    "insert": (
        "execute_insert_into_hadoop_fs_relation_command",
        "execute_insert_into_hive_table",
        "execute_insert_into_hive_dir_command",
        "execute_insert_into_data_source_command",
        "execute_insert_into_data_source_dir_command",
        "execute_save_into_data_source_command",
        "append_data",
        "append_data_exec_v1",
        "overwrite_by_expression",
        "overwrite_by_expression_exec_v1",
        "overwrite_partitions_dynamic",
        "execute_delta_dynamic_partition_overwrite_command",
        "replace_data",
        "write_delta",
        "write_to_data_source_v2",
        "adaptive_spark_plan",
        "project",
    ),
    "ctas": (
        "execute_create_data_source_table_as_select_command",
        "execute_create_hive_table_as_select_command",
        "execute_optimized_create_hive_table_as_select_command",
        "create_table_as_select",
        "atomic_create_table_as_select",
    ),
    "rtas": ("replace_table_as_select", "atomic_replace_table_as_select"),
    "merge": ("execute_merge_into_command", "execute_merge_into_command_edge"),
    "update": ("execute_update_command", "execute_update_command_edge"),
    "delete": ("execute_delete_command", "execute_delete_command_edge", "delete_from_table"),
    "copy": ("execute_copy_into_command", "execute_copy_into_command_edge"),
    "load": ("execute_load_data_command",),
    "create_table": (
        "execute_create_data_source_table_command",
        "execute_create_table_command",
        "execute_create_table_like_command",
        "create_table",
    ),
    "replace_table": ("replace_table", "atomic_replace_table"),
    "drop_table": ("drop_table", "execute_drop_table_command"),
    "truncate_table": ("execute_truncate_table_command",),
    "alter_table": (
        "execute_alter_table_add_columns_command",
        "execute_alter_table_rename_command",
        "execute_alter_table_set_location_command",
        "execute_alter_table_add_partition_command",
        "alter_table",
        "execute_repair_table_command",
    ),
}
DEFINITIONS = {"create_table", "replace_table", "drop_table", "truncate_table", "alter_table"}
EVERY_NODE = [(node, operation) for operation, nodes in NODES.items() for node in nodes]
HOST = "adb-123456789.12.azuredatabricks.net"


@pytest.mark.parametrize(("node", "operation"), EVERY_NODE, ids=[node for node, _ in EVERY_NODE])
def test_every_node_is_recognised_in_any_job_name(node: str, operation: str) -> None:
    for application in ("hadoop_fs_app", "etl.v2.daily", HOST, "app with blanks [1]"):
        for target in (
            "",
            ".warehouse_target",
            ".delta_/data/out/created",
            ".test zone_straße [1]",
            ".v1.create_table",
        ):
            job_name = split_job_name(f"{application}.{node}{target}")
            assert (job_name[0], job_name[1].name) == (application, operation)
            assert job_name[1].moves_data is (operation not in DEFINITIONS)
            assert not job_name[1].idle
            assert job_name[1].reason
            assert node_of(f"{application}.{node}{target}") == node


NO_NODES = (
    "app",
    "app.map_partitions_parallel_collection",
    "app.collect_limit",
    "app.filter",
    "app.project_plan",
    "app.my_append_data.t",
    "app.append_data2.t",
    "app_execute_merge_into_commands",
    "app_append_data",
    "crm_project",
    "app_execute_show_tables_command",
    "v1.app_execute_merge_into_command_t",
    "dbt-run-shop.model",
    "",
    ".",
)


@pytest.mark.parametrize("name", NO_NODES)
def test_the_whole_of_a_name_without_a_known_node_is_the_application(name: str) -> None:
    assert split_job_name(name) == (name, UNKNOWN)


def test_a_plan_that_is_shuffled_is_the_same_operation_as_one_that_is_not() -> None:
    shuffled = split_job_name("app.adaptive_spark_plan.out_totals")
    plain = split_job_name("app.execute_insert_into_hadoop_fs_relation_command.out_totals")
    assert shuffled == plain


NAMED_LIKE_NODES = (
    ("project.execute_merge_into_command.t", "", "project"),
    ("append_data.execute_merge_into_command.t", "", "append_data"),
    ("show_sales.execute_merge_into_command.t", "", "show_sales"),
    ("crm.project.execute_merge_into_command.t", "crm.project", "crm.project"),
    ("crm.create_table.v2.execute_merge_into_command.t", "crm.create_table.v2", "crm.create_table.v2"),
    ("crm.execute_merge_into_command.t", "databricks_shell", "crm"),
    ("crm.execute_merge_into_command.t", "cr", "crm"),
)


@pytest.mark.parametrize(
    ("name", "parent", "application"), NAMED_LIKE_NODES, ids=[case[0] for case in NAMED_LIKE_NODES]
)
def test_an_application_may_be_called_like_a_node(name: str, parent: str, application: str) -> None:
    name_parts = split_job_name(name, parent)
    assert (name_parts[0], name_parts[1].name) == (application, "merge")


def test_the_first_node_decides_not_the_target() -> None:
    assert split_job_name("app.execute_merge_into_command.db.drop_table")[1].name == "merge"


def test_a_job_name_may_be_a_node_alone() -> None:
    assert split_job_name("append_data")[1].name == "insert"
    assert split_job_name("append_data.t")[0] == ""


BEFORE_1_1 = (
    ("app_execute_merge_into_command_delta_t", "app", "merge"),
    ("app_execute_merge_into_command_edge", "app", "merge"),
    ("my_app_adaptive_spark_plan", "my_app", "insert"),
    ("adb_123_12_azuredatabricks_net_execute_insert_into_hive_table", "adb_123_12_azuredatabricks_net", "insert"),
    ("app_execute_alter_table_add_columns_command", "app", "alter_table"),
    ("app_execute_optimized_create_hive_table_as_select_command", "app", "ctas"),
)


@pytest.mark.parametrize(("name", "application", "operation"), BEFORE_1_1, ids=[case[0] for case in BEFORE_1_1])
def test_listeners_before_1_1_wrote_underscores_for_dots(name: str, application: str, operation: str) -> None:
    name_parts = split_job_name(name)
    assert (name_parts[0], name_parts[1].name) == (application, operation)


UNKNOWN_NODES = (
    ("app.collect_limit", "app", "collect_limit"),
    ("crm.v2.my_write.db_t", "crm.v2", "my_write"),
    ("crm.v2.my_write.db_t", "", ""),
    ("crm.v2.my_write.db_t", "other", ""),
    ("app", "app", ""),
)


@pytest.mark.parametrize(("name", "application", "node"), UNKNOWN_NODES)
def test_an_unknown_node_is_the_text_after_the_application(name: str, application: str, node: str) -> None:
    assert node_of(name, application) == node
    assert split_job_name(name, application) == (name, UNKNOWN)


@pytest.mark.parametrize("part", [".execute_alter_table_x", "_execute_alter_table_x", "_execute_", ".show_", "."])
def test_an_endless_name_is_read_in_no_time(part: str) -> None:
    """Patterns must not look at a name's length squared: senders choose the names."""
    name = part * 100_000
    assert split_job_name(name)[1] in {UNKNOWN, split_job_name("app.show_x")[1]}
