"""Store families, and their naming rules: patterns over a canonical data set, and a template of its catalog name.

A family has its schemes, the function that normalises spellings, and its rules.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

import msgspec

from shared.naming.stores.normalization import authority_folded, path_folded, table_folded, table_parts


class Identity(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False):
    """A data set's canonical OpenLineage identity: its folded physical location."""

    namespace: str
    name: str


class RunEnvironment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where a run ran, as far as names of data sets depend on it.

    `workspace`: host of a Databricks workspace (`adb-….azuredatabricks.net`). `mounts`: pairs of mount point and
    source, from the run facet `environment-properties`.
    """

    workspace: str = ""
    mounts: tuple[tuple[str, str], ...] = ()

    @property
    def host(self) -> str:
        """The workspace's host in lower case, without a scheme or path."""
        return self.workspace.lower().removeprefix("https://").partition("/")[0]


NO_ENVIRONMENT = RunEnvironment()
"""Nothing is known of the run's environment."""


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
        values = {"workspace": workspace, **place.groupdict(""), **parts}
        for group, default in self.defaults:
            values[group] = values[group] or default
        for group, id_groups in self.ids if ids or self.by_id else ():
            identifier = ids.get((group, *(values[name].casefold() for name in id_groups)))
            if identifier is None and self.by_id:
                return None
            values[group] = identifier or values[group]
        return values

    def apply(self, identity: Identity, workspace: str, ids: Mapping[tuple[str, ...], str]) -> tuple[CatalogName, ...]:
        """The catalog's names, best first; empty if the rule does not match."""
        groups = self.groups(identity, workspace, ids)
        if groups is None:
            return ()
        forms = ((self.type, self.to), *((other.type, other.to or self.to) for other in self.also))
        return tuple(
            CatalogName(type=kind, qualified_name=_within(form.format_map(groups)), rule=self.name)
            for kind, form in forms
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


def bounded(name: str, longest: int, *, most_bytes: int = 0) -> str:
    """The name with control characters percent-encoded, cut to `longest` characters (and `most_bytes` bytes, if given).
    A cut name ends with a digest of the whole.
    """
    text = name[: longest + 1]
    if not text.isprintable():  # catalogs do not show control characters
        text = "".join(c if c.isprintable() else quote(c, errors="surrogatepass") for c in text)
    if len(text) <= longest and (not most_bytes or len(text.encode(errors="surrogatepass")) <= most_bytes):
        return text
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:32]
    head = text[: longest - 33]
    if most_bytes:
        head = head.encode(errors="surrogatepass")[: most_bytes - 33].decode(errors="ignore")
    return f"{head}~{digest}"


Fold = Callable[[str, str], tuple[str, str]]
"""Normalises the part after a namespace's scheme, and a name."""


def as_path(location: str, name: str) -> tuple[str, str]:
    """Normalise file paths. A store without an authority has absolute paths."""
    folded, path = authority_folded(location), path_folded(name)
    return folded, path if folded else f"/{path}"


def as_name(location: str, name: str) -> tuple[str, str]:
    """Normalise names that are no paths: only slashes at the ends are removed."""
    return authority_folded(location), name.strip("/")


def as_table(location: str, name: str) -> tuple[str, str]:
    """Normalise a server's address and a table's name: without properties of a connection, without quotes."""
    return authority_folded(PROPERTIES.split(location, 1)[0]), table_folded(table_parts(name.strip("/")))


PROPERTIES = re.compile("[?;]")
"""Before the properties of a connection, at the end of an address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFamily:
    """A family of stores.

    - `schemes` of its namespaces; all are normalised to the first.
    - `authority`: matches the part after the scheme in lower case, where families share a scheme; None takes all.
    - `separator`: between scheme and the rest.
    - `has_paths`: names are file paths. `has_tables`: names are tables of a metastore, which arrive as symlinks.
    - `fallback`: asked only if no other family takes the namespace.
    """

    schemes: tuple[str, ...]
    rules: tuple[NamingRule, ...] = ()
    fold: Fold = as_name
    authority: re.Pattern[str] | None = None
    separator: str = "://"
    has_paths: bool = False
    has_tables: bool = False
    fallback: bool = False


def families_by_scheme(stores: Iterable[StoreFamily]) -> dict[str, tuple[StoreFamily, ...]]:
    """The families of each scheme in the order in which they are asked: as listed, fallbacks last.

    Raises ValueError for a family that could never be asked, because one before it takes every namespace of its scheme.
    """
    families: dict[str, tuple[StoreFamily, ...]] = {}
    for store in sorted(stores, key=lambda family: family.fallback):
        for scheme in store.schemes:
            earlier = families.get(scheme, ())
            if not store.fallback and any(family.authority is None for family in earlier):
                raise ValueError(
                    f"The store family of {_rules_of(store)} is never asked for {scheme}: the family of "
                    f"{_rules_of(earlier[-1])} takes all of that scheme. List the new family before it in "
                    "shared/naming/stores, with an `authority` that matches only its own namespaces."
                )
            families[scheme] = (*earlier, store)
    return families


def _rules_of(store: StoreFamily) -> str:
    return ", ".join(rule.name for rule in store.rules) or "no rule"
