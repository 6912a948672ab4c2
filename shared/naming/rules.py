"""What a rule is: patterns over one canonical data set, and how it is called in the catalog."""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from shared.naming.canonical import Identity

_LONGEST = 2000
"""Characters. Locations that a store allows are shorter; an Atlas slows down with the square of a name's length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A data set's place in the catalog, and the rule that gave it."""

    type: str
    qualified_name: str
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`namespace` and `path` must match the whole of a data set's namespace and name; `name_it` makes the qualified
    name of their groups.
    """

    name: str
    type: str
    namespace: re.Pattern[str]
    path: re.Pattern[str]
    name_it: Callable[[Mapping[str, str]], str]

    def apply(self, identity: Identity) -> Named | None:
        """The catalog's name, or None when this rule is not for it."""
        place = self.namespace.fullmatch(identity.namespace)
        path = self.path.fullmatch(identity.name) if place else None
        if not place or not path:
            return None
        qualified_name = self.name_it(place.groupdict() | path.groupdict())
        return Named(type=self.type, qualified_name=bounded(qualified_name, _LONGEST), rule=self.name)


def rule(name: str, *, type: str, namespace: str, path: str, to: str) -> Rule:  # noqa: A002 - the field's word
    """A rule from two patterns with named groups and a template that uses them."""
    return Rule(
        name=name,
        type=type,
        namespace=re.compile(namespace, re.DOTALL),
        path=re.compile(path, re.DOTALL),
        name_it=to.format_map,
    )


def unknown_store(identity: Identity) -> Named:
    """What no rule knows is a plain data set: never a lost process."""
    qualified_name = f"{identity.namespace}/{identity.name.lstrip('/')}"
    return Named(type="DataSet", qualified_name=bounded(qualified_name, _LONGEST), rule="unknown-store")


def printable(name: str) -> str:
    """The name without control characters, which no catalog shows: they are percent-encoded, all else stays."""
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else quote(c) for c in name)


def bounded(name: str, longest: int) -> str:
    """The printable name; what is longer than `longest` is cut, with a digest of the whole at its end."""
    name = printable(name)
    if len(name) <= longest:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:32]
    return f"{name[: longest - 33]}~{digest}"
