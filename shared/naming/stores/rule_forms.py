"""Make naming rules: of two patterns and a template, for tables by the parts of their names, for generic data sets."""

import re
from collections.abc import Callable

from shared.naming.stores.families import GENERIC, PART, AlternateName, NamingRule, unquoted


def rule(
    name: str,
    *,
    type: str,  # noqa: A002 - the field's word
    namespace: str,
    path: str,
    to: str,
    because: str = "",
    decides: bool = True,
    also: tuple[AlternateName, ...] = (),
    defaults: tuple[tuple[str, str], ...] = (),
    ids: tuple[tuple[str, tuple[str, ...]], ...] = (),
    by_id: bool = False,
    clean: Callable[[str], str] | None = None,
) -> NamingRule:
    """Make a rule of two patterns with named groups and a template that uses them."""
    place, inside = re.compile(namespace, re.DOTALL), re.compile(path, re.DOTALL)
    return NamingRule(
        name=name,
        type=type,
        namespace=place,
        path=inside,
        to=to,
        needs_workspace="{workspace}" in to and "workspace" not in {*place.groupindex, *inside.groupindex},
        because=because,
        decides=decides,
        also=also,
        defaults=defaults,
        ids=ids,
        by_id=by_id,
        clean=clean,
    )


def table_rule(
    name: str,
    *,
    type: str,  # noqa: A002 - the field's word
    namespace: str,
    parts: str,
    to: str,
    because: str,
    also: tuple[AlternateName, ...] = (),
    ids: tuple[tuple[str, tuple[str, ...]], ...] = (),
    by_id: bool = False,
    clean: Callable[[str], str] = unquoted,
) -> NamingRule:
    """Make a rule for tables, whose names consist of `parts`: `database.schema.table`."""
    return rule(
        name,
        type=type,
        namespace=namespace,
        path=r"\.".join(f"(?P<{part}>{PART})" for part in parts.split(".")),
        to=to,
        because=because,
        also=also,
        ids=ids,
        by_id=by_id,
        clean=clean,
    )


def generic_rule(name: str, because: str) -> NamingRule:
    """Make the rule of a store whose data sets are generic: it matches all. A table's name comes before it."""
    return rule(
        name,
        type=GENERIC,
        namespace="(?P<place>.*)",
        path="(?P<name>.*)",
        to="{place}/{name}",
        because=because,
        decides=False,
    )
