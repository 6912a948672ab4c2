"""Access sqlglot's loosely typed trees."""

from sqlglot import exp


def nodes(node: object, key: str = "expressions") -> list[exp.Expr]:
    """The nodes of a list argument; a single node counts as a list of one."""
    found = node.args.get(key) if isinstance(node, exp.Expr) else None
    listed = found if isinstance(found, list) else [found]
    return [each for each in listed if isinstance(each, exp.Expr)]


def name_of(node: object) -> str:
    """The name of a node, or an empty text."""
    return node.name if isinstance(node, exp.Expr) else ""
