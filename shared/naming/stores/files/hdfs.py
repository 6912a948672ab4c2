"""HDFS. `hdfs_path` is Atlas' type, and Purview documents no name for it, so a table's name comes first."""

from shared.naming.rules.rule import NamingRule, rule
from shared.naming.rules.store import StoreFamily, as_path

_OURS = "Atlas' type for HDFS; not verified that a scan names it so"

RULES: tuple[NamingRule, ...] = (
    rule(
        "hdfs-path",
        type="hdfs_path",
        namespace="hdfs://(?P<cluster>.+)",
        path="(?P<path>.*)",
        to="hdfs://{cluster}/{path}",
        because=_OURS,
        decides=False,
    ),
    rule(
        "hdfs-path-of-default-cluster",
        type="hdfs_path",
        namespace="hdfs",
        path="(?P<path>.*)",
        to="hdfs://{path}",
        because=_OURS,
        decides=False,
    ),
)

STORES: tuple[StoreFamily, ...] = (StoreFamily(schemes=("hdfs",), fold=as_path, rules=RULES, has_paths=True),)
