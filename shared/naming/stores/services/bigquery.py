"""BigQuery. Canonical: `bigquery` and `project.dataset.table`, without a partition decorator (`$20240501`) and without
older clients' colon after the project.
"""

import re

from shared.naming.rules.rule import AlternateName, NamingRule, rule
from shared.naming.rules.store import StoreFamily

RULES: tuple[NamingRule, ...] = (
    rule(
        "bigquery-table",
        type="bigquery_table",
        namespace="bigquery",
        path=r"(?P<project>[^/]+)\.(?P<dataset>[^./]+)\.(?P<table>[^./]+)",
        to="bigquery://{project}/{dataset}/{table}",
        because="Purview's scan of BigQuery names tables so",
        also=(AlternateName(type="bigquery_view"),),
    ),
)

_DECORATOR = re.compile(r"(?:\$\w+|[/`])+\Z")
_API = "googleapis.com"
"""The API's host in JDBC namespaces; it is the same for all projects."""
_COLON = re.compile(r"([^:]+):([^.:]+\.[^.:]+)")


def _fold(rest: str, name: str) -> tuple[str, str]:
    table = _DECORATOR.sub("", name.lstrip("/`"))
    legacy = _COLON.fullmatch(table)
    return "" if _API in rest else rest, f"{legacy[1]}.{legacy[2]}" if legacy else table


STORES: tuple[StoreFamily, ...] = (StoreFamily(schemes=("bigquery",), fold=_fold, rules=RULES),)
