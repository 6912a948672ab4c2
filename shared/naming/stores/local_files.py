"""Files of the machine that ran Spark: no scan finds them, so they are ours to place."""

from shared.naming.rules.rule import NamingRule, rule
from shared.naming.rules.store import Store, as_path

_OURS = "a machine's own files, which no scan finds: an Atlas file system path"

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

STORES: tuple[Store, ...] = (Store(schemes=("file",), fold=as_path, rules=RULES, has_paths=True),)
