"""Names of tables in Fabric's lakehouses and warehouses, whether a path of OneLake or a SQL endpoint names them.

Purview's scan names a lakehouse's tables by the ids of workspace and lakehouse. No scan is known to name a warehouse's:
its form here is the one that dbt's adapter for Fabric writes to Purview. A path with ids gives the exact name. For
names the names file (`THROUGHLINE_NAMES`) has the ids, also of what a SQL endpoint serves; without it they stay.
"""

from urllib.parse import quote, unquote

_GROUP = "https://app.fabric.microsoft.com/groups/{workspace}"
_WORKSPACE = ("workspace", ("workspace",))

LAKEHOUSE_TABLE = "fabric_lakehouse_table"
LAKEHOUSE_NAME = _GROUP + "/lakehouses/{lakehouse}/tables/"
LAKEHOUSE_IDS = (("lakehouse", ("workspace", "lakehouse")), _WORKSPACE)
LAKEHOUSE_SCAN = "Purview's scan of Fabric names lakehouse tables so, by the ids of workspace and lakehouse"

WAREHOUSE_TABLE = "fabric_warehouse_table"
WAREHOUSE_NAME = _GROUP + "/warehouses/{warehouse}/schemas/{schema}/tables/{table}"
WAREHOUSE_IDS = (("warehouse", ("workspace", "warehouse")), _WORKSPACE)
NO_WAREHOUSE_SCAN = (
    "dbt's adapter for Fabric names warehouse tables in Purview so, by ids; not verified that a scan does"
)


def workspace_folded(name: str) -> str:
    """A workspace's name as an authority holds it: in lower case and percent-encoded."""
    return quote(unquote(name).lower(), safe="").lower()
