"""Naming rules: patterns over a canonical data set, and a template of its catalog name."""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

import msgspec

from shared.naming.rules.identity import Identity
from shared.naming.rules.normalization import PART, unquoted

_MAX_LENGTH = 2000
"""Characters. Stores allow no longer locations, and Atlas slows down with the square of a name's length."""

_MAX_BYTES = 4_000
"""Bytes in UTF-8. A catalog holds 4 KB of a name, and the asset's schema needs some of them."""


class CatalogName(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A type and qualified name in the catalog, and the rule that gave them."""

    type: str
    qualified_name: str
    rule: str

    @property
    def key(self) -> tuple[str, str]:
        """What identifies it in the catalog: its type and qualified name."""
        return self.type, self.qualified_name


@dataclass(frozen=True, slots=True, kw_only=True)
class AlternateName:
    """Another name under which a scan may have found the data set; an empty `to` is the rule's own."""

    type: str
    to: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamingRule:
    """`namespace` and `path` must match a data set's whole namespace and name; the template `to` makes the qualified
    name of their groups.

    - `because`: the source of the name's form.
    - `decides`: a scan is known to use this name. If False, a table's name comes first.
    - `also`: alternative names of the same data set, best first.
    - `defaults`: values of empty groups.
    - `ids`: groups to replace by catalog ids, in order; each with the groups by which its id is looked up. `by_id`: the
      rule applies only if all of them have an id.
    - `needs_workspace`: the name contains the run's Databricks workspace, which must be known.
    - `clean`: applied to each group of `path`.
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
    by_id: bool = False
    needs_workspace: bool = False
    clean: Callable[[str], str] | None = field(default=None, repr=False)

    def groups(self, identity: Identity, workspace: str, ids: Mapping[tuple[str, ...], str]) -> dict[str, str] | None:
        """The values of all groups; None if the rule does not match."""
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
        for group, by in self.ids if ids or self.by_id else ():
            identifier = ids.get((group, *(found[name].casefold() for name in by)))
            if identifier is None and self.by_id:
                return None
            found[group] = identifier or found[group]
        return found

    def apply(self, identity: Identity, workspace: str, ids: Mapping[tuple[str, ...], str]) -> tuple[CatalogName, ...]:
        """The catalog's names, best first; empty if the rule does not match."""
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


GENERIC = "DataSet"
"""The type of data sets that no scan is known to find."""

UNKNOWN_STORE = "unknown-store"


def unknown_store(identity: Identity) -> CatalogName:
    """The name of a data set that no rule matches: a generic one, so that no process is lost."""
    qualified_name = f"{identity.namespace}/{identity.name.lstrip('/')}"
    return CatalogName(type=GENERIC, qualified_name=_within(qualified_name), rule=UNKNOWN_STORE)


def _within(name: str) -> str:
    return bounded(name, _MAX_LENGTH, most_bytes=_MAX_BYTES)


def printable(name: str) -> str:
    """The name with control characters percent-encoded, because catalogs do not show them."""
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else quote(c, errors="surrogatepass") for c in name)


def bounded(name: str, longest: int, *, most_bytes: int = 0) -> str:
    """The printable name, cut to `longest` characters (and `most_bytes` bytes, if given); a cut name ends with a digest
    of the whole.
    """
    shown = printable(name[: longest + 1])
    if len(shown) <= longest and (not most_bytes or len(shown.encode(errors="surrogatepass")) <= most_bytes):
        return shown
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:32]
    kept = shown[: longest - 33]
    if most_bytes:
        kept = kept.encode(errors="surrogatepass")[: most_bytes - 33].decode(errors="ignore")
    return f"{kept}~{digest}"
