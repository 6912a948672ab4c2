"""Azure Data Lake Storage Gen1, as Purview's scan named it; the store itself was retired in 2024."""

from shared.naming.rules.rule import AlternateName, NamingRule, rule
from shared.naming.rules.store import StoreFamily, as_path

_NAME = "adl://{account}/{path}"

RULES: tuple[NamingRule, ...] = (
    rule(
        "adl-path",
        type="azure_datalake_gen1_path",
        namespace=r"adl://(?P<account>[^/]+\.azuredatalakestore\.net)",
        path="(?P<path>.*)",
        to=_NAME,
        because="Purview's scan of ADLS Gen1 names files and folders so",
        also=(AlternateName(type="azure_datalake_gen1_resource_set", to=_NAME + "/{{SparkPartitions}}"),),
    ),
)

STORES: tuple[StoreFamily, ...] = (StoreFamily(schemes=("adl",), fold=as_path, rules=RULES, has_paths=True),)
