"""Databricks' own file system. What is mounted is named by its source before any rule is asked; the managed tables of
the workspace's Hive metastore are named as Purview's scan of that metastore names them. The rest no scan finds.
"""

from shared.naming.rules.rule import GENERIC, NamingRule, rule
from shared.naming.rules.store import Store, as_path

RULES: tuple[NamingRule, ...] = (
    rule(
        "dbfs-hive-table",
        type="hive_table",
        namespace="dbfs",
        path=r"/user/hive/warehouse/(?:(?P<database>[^/]+)\.db/)?(?P<table>[^/]+)",
        to="{database}.{table}@{workspace}",
        because="Purview's scan of a Databricks workspace's Hive metastore names its tables so",
        defaults=(("database", "default"),),
    ),
    rule(
        "dbfs-path-of-workspace",
        type=GENERIC,
        namespace="dbfs",
        path="(?P<path>.*)",
        to="dbfs://{workspace}{path}",
        because="every workspace has a file system of its own, and no scan finds it",
        decides=False,
    ),
    rule(
        "dbfs-path",
        type=GENERIC,
        namespace="dbfs",
        path="(?P<path>.*)",
        to="dbfs{path}",
        because="no scan finds it, and the run does not tell its workspace",
        decides=False,
    ),
)

STORES: tuple[Store, ...] = (Store(schemes=("dbfs",), fold=as_path, rules=RULES, has_paths=True),)
