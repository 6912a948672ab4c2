"""Candidate names under which a scan may have found a data set, and how well a search result matches one.

Candidates are derived from type and qualified name: a lake scan names the same data as a resource set, as a folder
(apparently with a trailing slash), or under the account's other host. Names that only a run gives (a table's, where the
location is known) are passed as `also`. Forms as in Microsoft's documentation and public typedefs; not checked against
a live account.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from shared.naming.stores.families import GENERIC, is_part_of_table

AssetName = tuple[str, str]
"""Type and qualified name."""

_REMEMBERED = 4_096
_MAX_KEPT = 8


class Candidate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A name under which a scan may have found a data set, and `because` of which rule."""

    type: str
    qualified_name: str
    because: str

    @property
    def key(self) -> AssetName:
        """Type and qualified name."""
        return self.type, self.qualified_name


@dataclass(frozen=True, slots=True, kw_only=True)
class _Files:
    """The types of a file store: of a file or folder, and of a resource set (files that a scan grouped)."""

    path: str
    resource_set: str


_LAKE = _Files(path="azure_datalake_gen2_path", resource_set="azure_datalake_gen2_resource_set")
_BLOB = _Files(path="azure_blob_path", resource_set="azure_blob_resource_set")
_STORES = (
    _LAKE,
    _BLOB,
    _Files(path="azure_datalake_gen1_path", resource_set="azure_datalake_gen1_resource_set"),
    _Files(path="aws_s3_v2_directory", resource_set="aws_s3_v2_resource_set"),
)
_FILES: dict[str, _Files] = {kind: files for files in _STORES for kind in (files.path, files.resource_set)}

_OTHER_HOST = {
    _LAKE.path: _BLOB.path,
    _BLOB.path: _LAKE.path,
    "azure_datalake_gen2_filesystem": "azure_blob_container",
    "azure_blob_container": "azure_datalake_gen2_filesystem",
}
"""An account is scanned as a lake or as blobs, and its data are named under that host."""

_HOST = "under the account's other host"

_WITH_VIEWS = (
    "azure_sql", "azure_sql_mi", "mssql", "azure_synapse_dedicated_sql", "azure_synapse_serverless_sql", "hive",
    "azure_postgresql", "postgresql", "azure_mysql", "oracle", "snowflake", "bigquery",
)  # fmt: skip
_VIEWS = {f"{view}_table": f"{view}_view" for view in _WITH_VIEWS}
_TABLES = {view: table for table, view in _VIEWS.items()}

_UNSEARCHED = frozenset({GENERIC, "fs_path", "hdfs_path", "kafka_topic", *_OTHER_HOST} - {_LAKE.path, _BLOB.path})
"""Types that no Purview scan gives, or whose names have one form only: a search finds nothing more."""

_ACCOUNT = re.compile(r"https://(?P<account>[^/]+?)\.(?P<host>dfs|blob)\.(?P<rest>.+)", re.DOTALL)


def candidates(kind: str, qualified_name: str, also: Iterable[AssetName] = ()) -> tuple[tuple[Candidate, ...], ...]:
    """The names of a data set in steps, best first: a step is looked up only if the one before found nothing."""
    first_candidates = _near(kind, qualified_name)
    further = dict.fromkeys(
        candidate
        for names, reason in ((_by_other_host(kind, qualified_name), _HOST), (also, "alternative name"))
        for name in names
        for candidate in _near(*name, reason=reason)
    )
    first_keys = {candidate.key for candidate in first_candidates}
    return first_candidates, tuple(
        {candidate.key: candidate for candidate in further if candidate.key not in first_keys}.values()
    )


def underivable_names(best: AssetName, alternates: Iterable[AssetName]) -> tuple[AssetName, ...]:
    """The further names that must be stored, because `candidates` does not derive them; at most `_MAX_KEPT`."""
    underivable: list[AssetName] = []
    for name in alternates:
        if len(underivable) < _MAX_KEPT and not any(
            name == candidate.key for step in candidates(*best, underivable) for candidate in step
        ):
            underivable.append(name)
    return tuple(underivable)


def _near(kind: str, name: str, reason: str = "") -> tuple[Candidate, ...]:
    """A name and its variants in the same store."""
    files, base = _FILES.get(kind), name.rstrip("/")
    if files and kind == files.path:
        forms = [
            (
                files.resource_set,
                f"{base}/{{SparkPartitions}}",
                "the folder's files, grouped by a scan as a resource set",
            ),
            (kind, name, reason or "its own name"),
            (kind, base, "without a slash at its end"),
            (kind, f"{base}/", "as a folder, with a slash at its end"),
        ]
    else:
        forms = [(kind, name, reason or "its own name")]
        if view := _VIEWS.get(kind):
            forms.append((view, name, "a view of that name"))
            forms.append((view, name.replace("/tables/", "/views/"), "a view of that name"))
    named: dict[AssetName, Candidate] = {}
    for candidate_type, called, because in forms:
        named.setdefault(
            (candidate_type, called), Candidate(type=candidate_type, qualified_name=called, because=because)
        )
    return tuple(named.values())


def _by_other_host(kind: str, name: str) -> Iterator[AssetName]:
    account = _ACCOUNT.fullmatch(name) if kind in _OTHER_HOST else None
    if account:
        host = "blob" if account["host"] == "dfs" else "dfs"
        yield _OTHER_HOST[kind], f"https://{account['account']}.{host}.{account['rest']}"


def search_terms(kind: str, qualified_name: str) -> str:
    """The search terms: words of the name's last part; empty if a search finds no more than look-ups by name."""
    if kind in _UNSEARCHED:
        return ""
    last = qualified_name.rstrip("/").rpartition("/")[2].partition("@")[0]
    return " ".join(re.findall(r"[^\W_]+", last))


_SET, _FOLDER, _FILE = 3, 2, 1
Rank = tuple[int, ...]


def rank(target: AssetName, result: AssetName) -> Rank | None:
    """How well a found asset matches a wanted one, higher is better; None if it is a different data set.

    A resource set comes before a folder, a folder before a file; then the account's own host, then the exact spelling.
    Tables may differ in quotes and case only.
    """
    files = _FILES.get(target[0])
    if files is None:
        table = _TABLES.get(result[0], result[0]), _table_folded(result[1])
        return (result[0] == target[0],) if table == (target[0], _table_folded(target[1])) else None
    result_files = _FILES.get(result[0])
    if result_files is not files and {files, result_files} != {_LAKE, _BLOB}:
        return None
    target_parts, result_parts = _parts(target[1]), _parts(result[1])
    head, tail = result_parts[1][: len(target_parts[1])], result_parts[1][len(target_parts[1]) :]
    if target_parts[0] != result_parts[0] or len(head) != len(target_parts[1]):
        return None
    if not all(map(_is_same, head, target_parts[1])) or not all(map(_is_part, tail)):
        return None
    kind = _SET if result[0] != (result_files or files).path else _FILE if tail else _FOLDER
    return kind, result_files is files, head == target_parts[1]


_KINDS = {_SET: "a resource set", _FOLDER: "a folder", _FILE: "a file or other part of the data"}


def describe_rank(target: AssetName, rank: Rank) -> str:
    """A sentence for `rank`'s result."""
    if target[0] not in _FILES:
        return f"{'a table' if rank[0] else 'a view, or a table of it'}, equal except for quotes and case"
    kind, own_host, is_exact = rank
    host = "under the account's own host" if own_host else "under its other host"
    return f"{_KINDS[kind]}, {host}, {'exact spelling' if is_exact else 'equal except for case or patterns'}"


def _parts(name: str) -> tuple[str, list[str]]:
    """A path's root (dfs and blob are one account) and its parts; of a name that is no path the host is empty."""
    scheme, _, location = name.partition("://")
    host, *parts = [part for part in location.split("/") if part] or [""]
    account = host.lower().replace(".blob.", ".dfs.", 1)
    return f"{scheme.lower()}://{account}", parts


_PATTERN = re.compile(r"\{[^{}]*\}")


@lru_cache(maxsize=_REMEMBERED)
def _pattern(part: str) -> re.Pattern[str]:
    """The pattern of a part of a resource set's name: `{N}`, `{GUID}`, `{Year}` …; the algorithm is not public."""
    literals = [re.escape(literal) for literal in _PATTERN.split(part)]
    return re.compile("[^/]+?".join(literals), re.IGNORECASE | re.DOTALL)


def _is_same(result_part: str, target_part: str) -> bool:
    if result_part.casefold() == target_part.casefold():
        return True
    return (
        "{" in result_part
        and any(map(str.isdigit, target_part))
        and _pattern(result_part).fullmatch(target_part) is not None
    )


def _is_part(part: str) -> bool:
    """Whether a path part names only a part of the data: a pattern, a partition, a part file."""
    return "{" in part or part.isdigit() or is_part_of_table(part)


def _table_folded(name: str) -> str:
    return re.sub(r"[\[\]\"`]", "", name).casefold()
