"""What a rule is: patterns over one canonical data set, and how it is called in the catalog."""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

import msgspec

from shared.naming.datasets.identity import Identity

_LONGEST = 2000
"""Characters. Locations that a store allows are shorter; an Atlas slows down with the square of a name's length."""

_MOST_BYTES = 4_000
"""Bytes, where letters take several: a catalog holds 4 KB of a name, and the asset's schema needs some of them."""


class CatalogName(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A data set's place in the catalog, and the rule that gave it."""

    type: str
    qualified_name: str
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AlternateName:
    """Another name under which a scan may have found what a rule names; an empty `to` is the rule's own."""

    type: str
    to: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamingRule:
    """`namespace` and `path` must match the whole of a data set's namespace and name; `to` makes the qualified name of
    their groups.

    - `decides` is False where no scan is known to name the store so: then a table's name, if there is one, comes first.
    - `also` are other names of the same data set, best first.
    - `defaults` stand in for groups that are empty.
    - `ids` are groups that have an id in the catalog, in order: a group, and the groups by which its id is looked up.
    - `needs_workspace`: its name holds the Databricks workspace of the run, which must be known.
    - `clean` is applied to each group of the name.
    - `because` says where the form of the name comes from.
    """

    name: str
    type: str
    namespace: re.Pattern[str]
    path: re.Pattern[str]
    to: str
    because: str = ""
    decides: bool = True
    also: tuple[AlternateName, ...] = ()
    defaults: tuple[tuple[str, str], ...] = ()
    ids: tuple[tuple[str, tuple[str, ...]], ...] = ()
    needs_workspace: bool = False
    clean: Callable[[str], str] | None = field(default=None, repr=False)

    def groups(self, identity: Identity, workspace: str, ids: Mapping[tuple[str, ...], str]) -> dict[str, str] | None:
        """What the patterns found in the data set, or None when this rule is not for it."""
        place = self.namespace.fullmatch(identity.namespace)
        path = self.path.fullmatch(identity.name) if place else None
        if not place or not path or (not workspace and self.needs_workspace):
            return None
        parts = path.groupdict("")
        if self.clean:
            parts = {key: self.clean(value) for key, value in parts.items()}
        found = {"workspace": workspace, **place.groupdict(""), **parts}
        for group, default in self.defaults:
            found[group] = found[group] or default
        if ids:
            for group, by in self.ids:
                found[group] = ids.get((group, *(found[each].casefold() for each in by)), found[group])
        return found

    def apply(self, identity: Identity, workspace: str, ids: Mapping[tuple[str, ...], str]) -> tuple[CatalogName, ...]:
        """The catalog's names, best first; none when this rule is not for it."""
        groups = self.groups(identity, workspace, ids)
        if groups is None:
            return ()
        best = self._named(self.type, self.to, groups)
        return (best, *(self._named(other.type, other.to or self.to, groups) for other in self.also))

    def _named(self, kind: str, to: str, groups: Mapping[str, str]) -> CatalogName:
        return CatalogName(type=kind, qualified_name=_within(to.format_map(groups)), rule=self.name)


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
    clean: Callable[[str], str] | None = None,
) -> NamingRule:
    """A rule from two patterns with named groups and a template that uses them."""
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
        clean=clean,
    )


GENERIC = "DataSet"
"""The type of what no scan is known to find."""

UNKNOWN_STORE = "unknown-store"


def unknown_store(identity: Identity) -> CatalogName:
    """What no rule knows is a plain data set: never a lost process."""
    qualified_name = f"{identity.namespace}/{identity.name.lstrip('/')}"
    return CatalogName(type=GENERIC, qualified_name=_within(qualified_name), rule=UNKNOWN_STORE)


def _within(name: str) -> str:
    return bounded(name, _LONGEST, most_bytes=_MOST_BYTES)


def printable(name: str) -> str:
    """The name without control characters, which no catalog shows: they are percent-encoded, all else stays."""
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else quote(c, errors="surrogatepass") for c in name)


def bounded(name: str, longest: int, *, most_bytes: int = 0) -> str:
    """The printable name; what is longer than `longest` characters (or than so many bytes, where they are given) is
    cut, with a digest of the whole at its end.
    """
    shown = printable(name[: longest + 1])
    if len(shown) <= longest and (not most_bytes or len(shown.encode(errors="surrogatepass")) <= most_bytes):
        return shown
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:32]
    kept = shown[: longest - 33]
    if most_bytes:
        kept = kept.encode(errors="surrogatepass")[: most_bytes - 33].decode(errors="ignore")
    return f"{kept}~{digest}"
