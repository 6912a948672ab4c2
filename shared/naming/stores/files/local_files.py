"""Local files of the machine that ran Spark, which no scan finds."""

from shared.naming.rules.rule import NamingRule, rule
from shared.naming.rules.store import StoreFamily, as_path

_OURS = "local files, which no scan finds: Atlas' file system path"

RULES: tuple[NamingRule, ...] = (
    rule("local-path", type="fs_path", namespace="file", path="(?P<path>.*)", to="file://{path}", because=_OURS),
    rule(
        "host-path",
        type="fs_path",
        namespace="(?P<host>file://.+)",
        path="(?P<path>.*)",
        to="{host}/{path}",
        because=_OURS,
    ),
)

STORES: tuple[StoreFamily, ...] = (StoreFamily(schemes=("file",), fold=as_path, rules=RULES, has_paths=True),)
