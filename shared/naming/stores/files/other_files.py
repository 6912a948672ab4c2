"""Further file systems that Spark reaches by Hadoop's connectors: their names are paths, and no scan finds them.

All are fallbacks: a family of its own for one of these schemes comes first.
"""

from shared.naming.rules.rule import GENERIC, NamingRule, rule
from shared.naming.rules.store import StoreFamily, as_path

_SCHEMES = (
    "viewfs", "webhdfs", "swebhdfs", "ofs", "o3fs", "har", "maprfs", "alluxio", "gvfs", "oss", "cosn", "obs", "swift",
    "ftp", "sftp",
)  # fmt: skip

RULES: tuple[NamingRule, ...] = (
    rule(
        "file-system-path",
        type=GENERIC,
        namespace="(?P<place>[^/]+://.+)",
        path="(?P<path>.*)",
        to="{place}/{path}",
        because="a file system that no scan is known to find",
        decides=False,
    ),
)

STORES: tuple[StoreFamily, ...] = tuple(
    StoreFamily(schemes=(scheme,), fold=as_path, rules=RULES, has_paths=True, fallback=True) for scheme in _SCHEMES
)
