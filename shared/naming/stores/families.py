"""Store families: their schemes, the functions that normalise spellings, and their naming rules, which are patterns
over a canonical data set, and a template of its catalog name.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import quote

import msgspec

_PART_FILE = re.compile(r"part-(?:[rm]-)?\d{4,}(?:[-.].*)?", re.DOTALL)
_TIME = re.compile(r"[0-9\s:.TZ-]+", re.ASCII)
_DATES = (
    re.compile(r"(?P<y>[0-9]{4})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})"),
    re.compile(r"(?P<d>[0-9]{2})\.(?P<m>[0-9]{2})\.(?P<y>[0-9]{4})"),
    re.compile(r"(?P<y>[0-9]{4})(?P<m>[0-9]{2})(?P<d>[0-9]{2})"),
)
_MONTH = re.compile(r"(?P<y>[0-9]{4})-?(?P<m>[0-9]{2})")
_MONTH_OF_FOLDERS = re.compile(r"(?P<y>[0-9]{4})(?P<m>[0-9]{2})")
_DAY_OF_FOLDERS = _DATES[2]
_LAST_MONTH, _LAST_DAY = 12, 31


def authority_folded(location: str) -> str:
    """The part after a scheme with its authority in lower case; a path or database behind it keeps its case."""
    authority, slash, behind = location.rstrip("/").partition("/")
    return f"{authority.lower()}{slash}{behind}"


def path_folded(name: str) -> str:
    """A path without doubled slashes, slashes at its ends, partition directories and part files. Never empty unless it
    was.

    Trims what listeners since 1.39 trim, so that older listeners' names become the same: `k=v`, a date or a time
    with a date (`2024-05-01`, `01.05.2024`, `20240501T120000Z`), a month (`202405`, `2024-05`), `yyyy/MM/dd` and
    `yyyy/MM`, as often as one stands at the end (OpenLineage's Java client, `dataset.partition.trimmer`; seen by
    running it). Part files are those of Spark and Hadoop: old listeners name
    them where new ones name the folder.
    """
    parts = [part for part in name.split("/") if part]
    while trimmed := _trimmed(parts):
        del parts[-trimmed:]
    return "/".join(parts)


def _trimmed(parts: list[str]) -> int:
    """How many trailing parts do not belong to the table's name; never all."""
    parents = len(parts) - 1
    if parents < 1:
        return 0
    last = parts[-1]
    if is_part_of_table(last):
        return 1
    if not last.isdigit():
        return 0
    if parents > 1 and _is_date(_MONTH_OF_FOLDERS, "".join(parts[-2:])):
        return 2
    if parents > 2 and _is_date(_DAY_OF_FOLDERS, "".join(parts[-3:])):  # noqa: PLR2004 - year, month and day
        return 3
    return 0


def is_part_of_table(part: str) -> bool:
    """Whether one path part names only a part of a table: a partition, a date or time, a part file."""
    return bool(part.count("=") == 1 or _PART_FILE.fullmatch(part) or _is_time(part) or _is_date(_MONTH, part))


def _is_time(part: str) -> bool:
    """Whether it is a date, possibly with a time."""
    if not _TIME.fullmatch(part) or part.count("T") > 1 or part.count("Z") > 1:
        return False
    return any(_exists(match) for date in _DATES for match in date.finditer(part))


def _is_date(pattern: re.Pattern[str], text: str) -> bool:
    match = pattern.fullmatch(text)
    return bool(match and _exists(match))


def _exists(match: re.Match[str]) -> bool:
    """Whether the date exists for the listener's parser, to which every month has 31 days."""
    day = match.groupdict().get("d", "01")
    return int(match["y"]) > 0 and 0 < int(match["m"]) <= _LAST_MONTH and 0 < int(day) <= _LAST_DAY


_TOKEN = re.compile(r"\[(?:[^\]]|\]\])*\]|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|[^.\[\"`]*", re.DOTALL)
_QUALIFIED = re.compile(rf"(?:{_TOKEN.pattern})(?:\.(?:{_TOKEN.pattern}))*", re.DOTALL)
_QUOTES = frozenset('[]"`')
_SPECIAL = _QUOTES | {".", "/"}

PART = r"(?:\[(?:[^\]]|\]\])*\]|[^.\[]+)"
"""The pattern of one part of a folded table's name."""


def table_parts(name: str) -> list[str]:
    """The parts of a table's name without quotes: `[a.b]."c"` has two. An unclosed quote is a plain character."""
    if not _QUOTES.intersection(name) or not _QUALIFIED.fullmatch(name):
        return name.split(".")
    parts, position = [], 0
    while position <= len(name) and (token := _TOKEN.match(name, position)):
        parts.append(unquoted(token[0]))
        position = token.end() + 1
    return parts


def unquoted(part: str) -> str:
    """One part of a table's name without its quotes."""
    if len(part) < 2:  # noqa: PLR2004 - an opening and a closing one
        return part
    first, last = part[0], part[-1]
    if (first, last) == ("[", "]"):
        return part[1:-1].replace("]]", "]")
    if first == last and first in '"`':
        return part[1:-1].replace(first * 2, first)
    return part


def table_folded(parts: list[str]) -> str:
    """A table's name of its parts; those with a dot, slash or quote are put in brackets."""
    return ".".join(f"[{part.replace(']', ']]')}]" if _SPECIAL.intersection(part) else part for part in parts)


def qualified(name: str, *, database: str, schema: str, schemas: frozenset[str]) -> str:
    """Complete a table's name to `database.schema.table`.

    `database`: from the namespace, may be empty; `schema`: the store's default; `schemas`: those of every database. Of
    two parts the first is the schema if `database` is given or if it is one of `schemas`; else the database, which
    listeners since 1.13 prepend (seen by running them).
    """
    parts = table_parts(name.strip("/"))
    if not parts[-1]:
        return name.strip("/")
    *qualifiers, table = parts[-3:]
    if len(qualifiers) == 2 and qualifiers[0]:  # noqa: PLR2004 - database and schema
        database, named = qualifiers
    elif len(qualifiers) == 2:  # noqa: PLR2004 - the database is left out, as in `.dbo.t`
        return qualified(table_folded([*qualifiers[1:], table]), database=database, schema=schema, schemas=schemas)
    elif qualifiers and (database or qualifiers[0].lower() in schemas):
        named = qualifiers[0]
    else:
        database, named = (qualifiers[0] if qualifiers else database), ""
    return table_folded([*([database] if database else []), named or schema, table])


UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_CALLED_BY_ID = re.compile(rf"(?:.*/)?{UUID}/?", re.DOTALL)


def table_shown(path: str, tables: Sequence[str]) -> str:
    """The table to show in place of a path whose last part is an id, as of a managed table; empty for other paths, and
    if no table is known.
    """
    return max(tables, key=len) if tables and _CALLED_BY_ID.fullmatch(path) else ""


QUERY = "COMPLEX"
"""Listeners' name for a subquery whose tables they do not report (SQL DW and Kusto on Databricks)."""


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


_within = partial(bounded, longest=_MAX_LENGTH, most_bytes=_MAX_BYTES)


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
