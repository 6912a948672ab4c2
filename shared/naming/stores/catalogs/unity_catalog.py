"""Tables of Unity Catalog. They arrive as symlinks of a location: `unity-catalog` on Databricks, `unitycatalog://host`
from the open-source server; `catalog.schema.table` both.

Purview's scan names them by the metastore's id. The names file (`THROUGHLINE_NAMES`) maps a workspace's host to it;
without it the host stays, as in one vendor's scanner.
"""

from shared.naming.rules.normalization import PART, authority_folded, table_folded, table_parts, unquoted
from shared.naming.rules.rule import NamingRule, rule
from shared.naming.rules.store import StoreFamily

_TABLE = rf"(?P<catalog>{PART})\.(?P<schema>{PART})\.(?P<table>{PART})"
_NAME = "databricks://{workspace}/catalogs/{catalog}/schemas/{schema}/tables/{table}"
_IDS = (("workspace", ("workspace",)),)

RULES: tuple[NamingRule, ...] = (
    rule(
        "unity-catalog-table",
        type="databricks_table",
        namespace="unity-catalog",
        path=_TABLE,
        to=_NAME,
        because="Purview's scan of Unity Catalog names tables so, by the metastore's id",
        ids=_IDS,
        clean=unquoted,
    ),
    rule(
        "unity-catalog-server-table",
        type="databricks_table",
        namespace=r"unitycatalog://(?P<workspace>[^:/]+)(?::\d+)?(?:/.*)?",
        path=_TABLE,
        to=_NAME,
        because="as a scan of Unity Catalog names tables; not verified for own servers",
        ids=_IDS,
        clean=unquoted,
    ),
)


def _fold(rest: str, name: str) -> tuple[str, str]:
    return authority_folded(rest), table_folded(table_parts(name.strip("/")))


STORES: tuple[StoreFamily, ...] = (
    StoreFamily(schemes=("unity-catalog",), fold=_fold, rules=RULES[:1], has_tables=True),
    StoreFamily(schemes=("unitycatalog",), fold=_fold, rules=RULES[1:], has_tables=True),
)
