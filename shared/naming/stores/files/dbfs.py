"""Databricks' file system. Mounted paths are named by their source before any rule applies; managed tables as Purview's
scan of the workspace's Hive metastore names them. No scan finds the rest.
"""

from shared.naming.rules.rule import GENERIC, NamingRule, rule
from shared.naming.rules.store import StoreFamily, as_path

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
        because="each workspace has its own file system, which no scan finds",
        decides=False,
    ),
    rule(
        "dbfs-path",
        type=GENERIC,
        namespace="dbfs",
        path="(?P<path>.*)",
        to="dbfs{path}",
        because="no scan finds it, and the run's workspace is unknown",
        decides=False,
    ),
)

STORES: tuple[StoreFamily, ...] = (StoreFamily(schemes=("dbfs",), fold=as_path, rules=RULES, has_paths=True),)
