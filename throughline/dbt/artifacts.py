"""dbt's files, as far as events need them: manifest.json, run_results.json and catalog.json.

The shapes follow https://schemas.getdbt.com/dbt/manifest/v12.json, /dbt/run-results/v6.json and /dbt/catalog/v1.json.
What is not named here is skipped; null and unset mean the same.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from shared.errors import Misconfigured
from shared.openlineage.decoding import BYTE_ORDER_MARK

MANIFEST, RESULTS, CATALOG = "manifest.json", "run_results.json", "catalog.json"
_VERSIONS: Mapping[str, range] = {MANIFEST: range(10, 13), RESULTS: range(4, 7), CATALOG: range(1, 2)}
"""The versions of each file that are read: those of dbt 1.6 and later."""
_VERSION = re.compile(r"/v(\d+)\.json$")
_NOT_STORED = frozenset({"ephemeral", "inline"})
_STORED = frozenset({"model", "seed", "snapshot", "source"})
_MOST_PROBLEMS = 20
T = TypeVar("T")


class _Part(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Base of all shapes."""


class Settings(_Part, frozen=True):
    """What a node is configured with, under the key `config`."""

    materialized: str | None = None
    severity: str | None = None
    meta: dict[str, Any] | None = None
    tags: tuple[str, ...] | str | None = None


class DescribedColumn(_Part, frozen=True):
    """A column as a project describes it."""

    name: str
    description: str | None = None
    data_type: str | None = None
    tags: tuple[str, ...] | None = None
    config: Settings | None = None


class DependsOn(_Part, frozen=True):
    """Unique ids of the nodes that a node reads."""

    nodes: tuple[str, ...] | None = None


class TestMetadata(_Part, frozen=True):
    """Which generic test it is, with its arguments."""

    name: str
    kwargs: dict[str, Any] | None = None


class Contact(_Part, frozen=True):
    """The owner of an exposure or a group."""

    name: str | None = None
    email: tuple[str, ...] | str | None = None


class Node(_Part, frozen=True):
    """A model, seed, snapshot, source, test, exposure, metric or group of a project."""

    unique_id: str
    name: str
    resource_type: str
    database: str | None = None
    schema: str | None = None
    alias: str | None = None
    identifier: str | None = None
    original_file_path: str | None = None
    description: str | None = None
    columns: dict[str, DescribedColumn] | None = None
    config: Settings | None = None
    depends_on: DependsOn | None = None
    compiled_code: str | None = None
    tags: tuple[str, ...] | str | None = None
    meta: dict[str, Any] | None = None
    group: str | None = None
    test_metadata: TestMetadata | None = None
    column_name: str | None = None
    attached_node: str | None = None
    owner: Contact | None = None
    type: str | None = None
    url: str | None = None
    maturity: str | None = None

    @property
    def is_stored(self) -> bool:
        """Whether it is a table or a view, which an ephemeral model is not."""
        materialized = self.config.materialized if self.config else None
        return self.resource_type in _STORED and materialized not in _NOT_STORED

    @property
    def table(self) -> str:
        """The name in the database, with database and schema where it has them."""
        last = self.identifier or self.name if self.resource_type == "source" else self.alias or self.name
        return ".".join(filter(None, (self.database, self.schema, last)))

    @property
    def parents(self) -> tuple[str, ...]:
        """Unique ids of what it reads."""
        return (self.depends_on.nodes or ()) if self.depends_on else ()


class Timing(_Part, frozen=True):
    """When a step of a node's execution began and ended."""

    name: str
    started_at: str | None = None
    completed_at: str | None = None


class Response(_Part, frozen=True):
    """What the database answered."""

    rows_affected: int | None = None


class NodeResult(_Part, frozen=True):
    """What became of a node. `failures`: the rows that a test found."""

    unique_id: str
    status: str
    timing: tuple[Timing, ...] | None = None
    adapter_response: Response | None = None
    failures: int | None = None


class CatalogColumn(_Part, frozen=True):
    """A column that the database has."""

    name: str
    type: str | None = None
    index: int = 0


class CatalogTable(_Part, frozen=True):
    """A table that the database has."""

    columns: dict[str, CatalogColumn]


class Metadata(_Part, frozen=True):
    """What wrote a file, and when."""

    dbt_schema_version: str
    generated_at: str
    dbt_version: str | None = None
    invocation_id: str | None = None
    project_name: str | None = None
    adapter_type: str | None = None


class Arguments(_Part, frozen=True):
    """Options of the command that dbt ran."""

    profiles_dir: str | None = None
    project_dir: str | None = None
    profile: str | None = None
    target: str | None = None


class _Group(_Part, frozen=True):
    name: str
    owner: Contact | None = None


Raws = dict[str, msgspec.Raw]


class _File(_Part, frozen=True):
    """Any of the files: values are decoded one by one, so that each mistake is found."""

    metadata: Metadata
    nodes: Raws | None = None
    sources: Raws | None = None
    exposures: Raws | None = None
    metrics: Raws | None = None
    semantic_models: Raws | None = None
    saved_queries: Raws | None = None
    groups: Raws | None = None
    results: tuple[msgspec.Raw, ...] | None = None
    args: Arguments | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project as dbt's files have it. `ran`: the metadata of run_results.json, if there is one; `results`, `tables`:
    by unique id of a node; `owners`: of groups by name.
    """

    folder: Path
    metadata: Metadata
    ran: Metadata | None
    arguments: Arguments
    nodes: Mapping[str, Node]
    results: Mapping[str, NodeResult]
    tables: Mapping[str, CatalogTable]
    owners: Mapping[str, Contact]

    @property
    def name(self) -> str:
        """The project's name."""
        return self.metadata.project_name or "dbt"


def read_project(folder: Path) -> Project:
    """Read the files in dbt's target folder, or in `target` below the folder. Only manifest.json must exist.

    Raises Misconfigured with all mistakes of all files, each with its place.
    """
    if not (folder / MANIFEST).exists() and (folder / "target" / MANIFEST).exists():
        folder = folder / "target"
    problems: list[str] = []
    files = {name: _read(folder / name, problems) for name in _VERSIONS}
    manifest, ran, catalog = files.values()

    def parts(file: _File | None, name: str, keys: str, kind: type[T]) -> dict[str, T]:
        return dict(_parts(file, name, keys.split(), kind, problems)) if file else {}

    listed = ran and msgspec.structs.replace(
        ran, nodes={f"{number}": raw for number, raw in enumerate(ran.results or ())}
    )
    nodes = parts(manifest, MANIFEST, "nodes sources exposures metrics semantic_models saved_queries", Node)
    results = parts(listed, RESULTS, "nodes", NodeResult)
    tables = parts(catalog, CATALOG, "nodes sources", CatalogTable)
    groups = parts(manifest, MANIFEST, "groups", _Group)
    if problems or manifest is None:
        surplus = len(problems) - _MOST_PROBLEMS
        shown_problems = [*problems[:_MOST_PROBLEMS], *([f"and {surplus:,} more"] if surplus > 0 else [])]
        raise Misconfigured("dbt's files can't be used:\n" + "\n".join(f"  - {problem}" for problem in shown_problems))
    return Project(
        folder=folder,
        metadata=manifest.metadata,
        ran=ran.metadata if ran else None,
        arguments=(ran.args if ran else None) or Arguments(),
        nodes=nodes,
        results={result.unique_id: result for result in results.values()},
        tables=tables,
        owners={group.name: group.owner for group in groups.values() if group.owner},
    )


def _read(path: Path, problems: list[str]) -> _File | None:
    """A file of a version that is known; else None, and a problem unless the file may be missing."""
    try:
        file = msgspec.json.decode(path.read_bytes().removeprefix(BYTE_ORDER_MARK), type=_File)
    except FileNotFoundError:
        if path.name == MANIFEST:
            problems.append(f"{path} does not exist: name the folder that dbt writes (`target`), or run `dbt compile`")
        return None
    except OSError as error:
        problems.append(f"{path} can't be read: {error.strerror or error}")
        return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problems.append(f"{path}: {error}")
        return None
    version, versions = _VERSION.search(file.metadata.dbt_schema_version), _VERSIONS[path.name]
    if not version or int(version[1]) not in versions:
        problems.append(
            f"{path}: metadata.dbt_schema_version is {file.metadata.dbt_schema_version!r}: versions v{versions[0]} to"
            f" v{versions[-1]} are read, which dbt 1.6 and later write"
        )
        return None
    return file


def _parts(file: _File, name: str, keys: list[str], kind: type[T], problems: list[str]) -> Iterator[tuple[str, T]]:
    decode = msgspec.json.Decoder(kind).decode
    for key in keys:
        raws: Raws = getattr(file, key) or {}
        for unique_id, raw in raws.items():
            try:
                yield unique_id, decode(raw)
            except (msgspec.DecodeError, RecursionError) as error:
                place = f"results[{unique_id}]" if name == RESULTS else f"{key}.{unique_id}"
                problems.append(f"{name}: {place}: {error}")
