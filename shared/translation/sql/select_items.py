"""Items of a SELECT list: stars, and expressions with column names."""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from shared.translation.sql.parsing import nodes
from shared.translation.sql.relations import Origins, QueryRelation, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Star:
    """`*` or `t.*`: its relation if just one, the excluded columns (`hidden`), all columns if known (`expanded`)."""

    relation: QueryRelation | None = None
    hidden: frozenset[str] = frozenset()
    expanded: list[tuple[str, Origins]] | None = None


def star_of(item: object, scope: Scope) -> Star | None:
    """An item as a star; None for an expression."""
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
        found = scope.find(part.name for part in item.parts[:-1])
        star, relations = item.this, [found] if found else []
    elif isinstance(item, exp.Star):
        star, relations = item, scope.relations
    else:
        return None
    hidden = frozenset(
        part.alias_or_name.lower() for key in ("except_", "replace", "rename") for part in nodes(star, key)
    )
    changed = bool(star.args.get("replace") or star.args.get("rename"))
    known = relations and not changed and not any(relation.is_open for relation in relations)
    return Star(
        relation=relations[0] if len(relations) == 1 else None,
        hidden=hidden,
        expanded=[column for each in relations for column in each.columns if column[0].lower() not in hidden]
        if known
        else None,
    )


def named_parts(item: object) -> Iterator[tuple[str, object]]:
    """The column names of an item (empty if Spark generates one), each with its expression."""
    if isinstance(item, exp.Alias):
        yield item.alias, item.this
    elif isinstance(item, exp.Aliases):
        yield from ((name.name, item.this) for name in nodes(item))
    elif isinstance(item, exp.Column):
        yield item.name, item
    elif isinstance(item, exp.Dot):
        yield item.expression.name if isinstance(item.expression, exp.Identifier) else "", item
    elif isinstance(item, exp.QueryTransform):
        yield "", None
    else:
        yield "", item
