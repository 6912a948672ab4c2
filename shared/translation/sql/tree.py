"""Looking into sqlglot's trees, which promise little of what stands where."""

from sqlglot import exp


def nodes(node: object, key: str = "expressions") -> list[exp.Expr]:
    """The nodes of a list in a tree; one where a single node stands in its place, none where there is nothing."""
    found = node.args.get(key) if isinstance(node, exp.Expr) else None
    listed = found if isinstance(found, list) else [found]
    return [each for each in listed if isinstance(each, exp.Expr)]


def name_of(node: object) -> str:
    """The name of a node; empty for what has none."""
    return node.name if isinstance(node, exp.Expr) else ""
