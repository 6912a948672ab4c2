"""Azure Cosmos DB's API for NoSQL, in all clouds."""

from shared.naming.rules.normalization import authority_folded
from shared.naming.rules.rule import NamingRule, rule
from shared.naming.rules.store import StoreFamily

RULES: tuple[NamingRule, ...] = (
    rule(
        "cosmos-collection",
        type="azure_cosmosdb_sqlapi_collection",
        namespace=r"azurecosmos://(?P<host>[^./:]+\.documents\.azure\.(?:com|cn|us))/dbs/(?P<database>[^/]+)",
        path=r"colls/(?P<collection>[^/]+)",
        to="https://{host}/dbs/{database}/colls/{collection}",
        because="Purview's scan of Cosmos DB names collections so",
    ),
)


def _fold(rest: str, name: str) -> tuple[str, str]:
    return authority_folded(rest).replace(":443/", "/", 1), name.strip("/")


STORES: tuple[StoreFamily, ...] = (StoreFamily(schemes=("azurecosmos",), fold=_fold, rules=RULES),)
