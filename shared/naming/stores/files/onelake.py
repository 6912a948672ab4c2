"""Fabric's OneLake: tables of a lakehouse, and the files beside them.

Purview's scan names lakehouse tables by the ids of workspace and lakehouse. A path with ids gives the exact name; for a
path with names the names file (`THROUGHLINE_NAMES`) maps them to ids, and without it they stay. Hosts of regions and of
single workspaces are OneLake too.
"""

import re
from urllib.parse import quote, unquote

from shared.naming.rules.normalization import path_folded
from shared.naming.rules.rule import NamingRule, rule
from shared.naming.rules.store import StoreFamily

_WORKSPACE = r"abfss://(?P<workspace>[^@/]+)@onelake\.dfs\.fabric\.microsoft\.com"
_LAKEHOUSE = r"(?P<lakehouse>[^/.]+)(?:\.Lakehouse)?"
_GROUP = "https://app.fabric.microsoft.com/groups/{workspace}/lakehouses/{lakehouse}"
_IDS = (("lakehouse", ("workspace", "lakehouse")), ("workspace", ("workspace",)))
_SCAN = "Purview's scan of Fabric names lakehouse tables so, by the ids of workspace and lakehouse"

RULES: tuple[NamingRule, ...] = (
    rule(
        "onelake-table",
        type="fabric_lakehouse_table",
        namespace=_WORKSPACE,
        path=_LAKEHOUSE + r"/Tables/(?P<table>[^/]+)",
        to=_GROUP + "/tables/{table}",
        because=_SCAN,
        ids=_IDS,
    ),
    rule(
        "onelake-schema-table",
        type="fabric_lakehouse_table",
        namespace=_WORKSPACE,
        path=_LAKEHOUSE + r"/Tables/(?P<schema>[^/]+)/(?P<table>[^/]+)",
        to=_GROUP + "/tables/{schema}%252F{table}",
        because=_SCAN + "; this one has schemas",
        ids=_IDS,
    ),
    rule(
        "onelake-path",
        type="azure_datalake_gen2_path",
        namespace=_WORKSPACE,
        path="(?P<path>.*)",
        to="https://onelake.dfs.fabric.microsoft.com/{workspace}/{path}",
        because="OneLake answers as an ADLS Gen2 account; no scan is known to name its files",
    ),
)

_HOST = r"(?:[a-z0-9-]+-)?onelake\.(?:dfs|blob)\.fabric\.microsoft\.com"
_OWN_HOST = r"[0-9a-f-]+\.z[0-9a-f]{2}\.(?:onelake|dfs|blob)\.fabric\.microsoft\.com"


_ITEM = re.compile(r"\A([^/.]+)\.lakehouse(?=/|\Z)", re.IGNORECASE)


def workspace_folded(name: str) -> str:
    """A workspace's name in an authority: in lower case and percent-encoded."""
    return quote(unquote(name).lower(), safe="").lower()


def _one_lake(rest: str, name: str) -> tuple[str, str]:
    path = _ITEM.sub(r"\1.Lakehouse", path_folded(name))
    return f"{workspace_folded(rest.partition('@')[0])}@onelake.dfs.fabric.microsoft.com", path


STORES: tuple[StoreFamily, ...] = (
    StoreFamily(
        schemes=("abfss", "abfs"),
        authority=re.compile(rf"[^@/]+@(?:{_HOST}|{_OWN_HOST})/?"),
        fold=_one_lake,
        rules=RULES,
        has_paths=True,
    ),
)
