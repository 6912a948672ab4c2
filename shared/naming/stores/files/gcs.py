"""Google Cloud Storage. Purview documents no scan of it: a generic data set, and a table's name comes first."""

from shared.naming.rules.rule import GENERIC, NamingRule, rule
from shared.naming.rules.store import StoreFamily, as_path

RULES: tuple[NamingRule, ...] = (
    rule(
        "gcs-path",
        type=GENERIC,
        namespace="gs://(?P<bucket>.+)",
        path="(?P<path>.*)",
        to="gs://{bucket}/{path}",
        because="no scan of Google Cloud Storage is documented",
        decides=False,
    ),
)

STORES: tuple[StoreFamily, ...] = (StoreFamily(schemes=("gs",), fold=as_path, rules=RULES, has_paths=True),)
