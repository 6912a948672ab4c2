"""Files of the machine that ran Spark, and of HDFS: no scan finds the first, so they are ours to place."""

from shared.naming.rules import Rule, rule

RULES: tuple[Rule, ...] = (
    rule("local-path", type="fs_path", namespace="file", path="(?P<path>.*)", to="file://{path}"),
    rule("host-path", type="fs_path", namespace="(?P<host>file://.+)", path="(?P<path>.*)", to="{host}/{path}"),
)
