"""Fabric's OneLake: tables of a lakehouse, and the files beside them.

Purview's scan names lakehouse tables by the ids of workspace and lakehouse. Where a path holds the ids, the name is
exact; where it holds the names, the names stand in the same places until a mapping tells the ids.
"""

from shared.naming.rules import Rule, rule

_WORKSPACE = r"abfss://(?P<workspace>[^@/]+)@(?:[a-z0-9-]+-)?onelake\.(?:dfs|blob)\.fabric\.microsoft\.com"
_LAKEHOUSE = r"(?P<lakehouse>[^/]+?)(?:\.[Ll]akehouse)?"
_GROUP = "https://app.fabric.microsoft.com/groups/{workspace}/lakehouses/{lakehouse}"

RULES: tuple[Rule, ...] = (
    rule(
        "onelake-table",
        type="fabric_lakehouse_table",
        namespace=_WORKSPACE,
        path=_LAKEHOUSE + r"/Tables/(?P<table>[^/]+)",
        to=_GROUP + "/tables/{table}",
    ),
    rule(
        "onelake-schema-table",
        type="fabric_lakehouse_table",
        namespace=_WORKSPACE,
        path=_LAKEHOUSE + r"/Tables/(?P<schema>[^/]+)/(?P<table>[^/]+)",
        to=_GROUP + "/tables/{schema}%252F{table}",
    ),
    rule(
        "onelake-path",
        type="azure_datalake_gen2_path",
        namespace=_WORKSPACE,
        path="(?P<path>.+)",
        to="https://onelake.dfs.fabric.microsoft.com/{workspace}/{path}",
    ),
)
