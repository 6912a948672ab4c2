"""Normalise spellings: authorities, paths, and parts of table names."""

import re
from collections.abc import Sequence

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
