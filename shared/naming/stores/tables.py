"""Tables that are known by their name in a metastore alone: Hive's, as a Databricks scan names them."""

from shared.naming.rules import Rule, rule

RULES: tuple[Rule, ...] = (
    rule(
        "hive-table",
        type="hive_table",
        namespace=r"hive://(?P<host>[^:/]+)(?::\d+)?(?:/.*)?",
        path=r"(?P<database>[^.]+)\.(?P<table>.+)",
        to="{database}.{table}@{host}",
    ),
)
