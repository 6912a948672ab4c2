"""The allowed imports: the rooms of CONTRIBUTING.md as a table, checked on every file.

The checker is a function from sources to sentences, so that planted violations can test it below.
"""

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LONGEST_SHELL = 60
ADAPTERS = frozenset(
    {
        "shared.storage.azure",
        "shared.storage.service",
        "shared.storage.transport",
        "shared.catalog.atlas.catalog",
        "shared.catalog.connection.transport",
        "shared.catalog.connection.account",
        "shared.catalog.atlas.annotations",
        "shared.telemetry.otel",
        "shared.announcing.webhook",
        "shared.forwarding.http_target",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """The allowed imports of a room: other rooms by their folders, and packages by their first or longer names."""

    rooms: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()


def _room(rooms: str = "", packages: str = "") -> Room:
    return Room(rooms=frozenset(rooms.split()), packages=frozenset(packages.split()))


EVERYTHING = (
    "plans lineage completeness governance model errors secrets openlineage naming translation redaction atlas catalog "
    "storage telemetry storage_layout concurrency ingest records events applications sweeping reading publishing "
    "reporting maintenance query foreign texts settings versions rules_file event_parts gc_tuning adapters "
    "bootstrap_receiver bootstrap watching announcing classifying http_errors outbox canary serving bootstrap_lineage "
    "forwarding"
)
ROOMS: dict[str, Room] = {
    # the core: pure, and so no azure, no requests, no pyapacheatlas, no pyspark, no tenacity
    "shared": _room(),
    "shared.model": _room("", "msgspec"),
    "shared.errors": _room(),
    "shared.event_parts": _room(),
    "shared.versions": _room(),
    "shared.gc_tuning": _room(),
    "shared.texts": _room(),
    "shared.rules_file": _room("errors texts"),
    "shared.concurrency": _room(),
    "shared.outbox": _room("concurrency http_errors records storage"),
    "shared.http_errors": _room("errors", "requests urllib3"),
    "shared.secrets": _room(),
    "shared.openlineage": _room("errors", "msgspec"),
    "shared.plans": _room("errors model openlineage", "msgspec"),
    "shared.naming": _room("rules_file secrets versions", "msgspec"),
    "shared.translation": _room("model naming openlineage plans secrets versions", "msgspec sqlglot"),
    "shared.redaction": _room("naming openlineage secrets translation", "msgspec"),
    "shared.atlas": _room("model naming translation", "msgspec"),
    "shared.lineage": _room("errors model texts", "msgspec"),
    "shared.completeness": _room("rules_file"),
    "shared.governance": _room("errors lineage model rules_file texts"),
    # the ports, and their adapters
    "shared.catalog": _room(
        "errors atlas completeness http_errors telemetry translation",
        "azure requests urllib3 pyapacheatlas tenacity",
    ),
    "shared.storage": _room("errors http_errors", "azure certifi msgspec requests urllib3"),
    "shared.telemetry": _room("errors secrets texts", "opentelemetry azure.monitor.opentelemetry.exporter"),
    # the composition
    "shared.storage_layout": _room("errors openlineage storage"),
    # the way of an event: a room imports those above it, never those below
    "shared.ingest": _room("errors events openlineage storage_layout secrets storage telemetry", "msgspec"),
    "shared.records": _room("model errors catalog storage telemetry storage_layout versions", "msgspec"),
    "shared.events": _room(
        "errors secrets openlineage storage telemetry storage_layout concurrency records", "msgspec"
    ),
    "shared.applications": _room(
        "model errors secrets openlineage naming translation storage telemetry storage_layout concurrency records "
        "events",
        "msgspec",
    ),
    "shared.sweeping": _room(
        "errors naming openlineage secrets translation storage telemetry storage_layout concurrency records events "
        "applications",
        "msgspec",
    ),
    "shared.publishing": _room(
        "model errors secrets openlineage naming translation atlas catalog storage telemetry storage_layout "
        "concurrency records events applications",
        "msgspec",
    ),
    "shared.reading": _room(
        "model errors openlineage atlas translation storage storage_layout records events applications publishing"
    ),
    "shared.reporting": _room(
        "model errors openlineage translation storage storage_layout records events applications sweeping reading "
        "publishing"
    ),
    "shared.maintenance": _room(
        "model errors secrets openlineage translation atlas catalog storage storage_layout records events applications "
        "sweeping reading publishing",
        "msgspec",
    ),
    "shared.foreign": _room("catalog lineage model records storage storage_layout", "msgspec"),
    "shared.query": _room(
        "errors foreign lineage model openlineage atlas catalog classifying storage storage_layout texts translation "
        "records applications reading publishing reporting telemetry watching",
        "msgspec",
    ),
    "shared.watching": _room("lineage rules_file texts", "msgspec"),
    "shared.forwarding": _room(
        "applications concurrency errors event_parts events http_errors lineage model naming openlineage outbox "
        "records rules_file storage storage_layout telemetry translation versions",
        "msgspec",
    ),
    "shared.announcing": _room(
        "concurrency errors foreign governance http_errors lineage model outbox publishing query reading records "
        "storage storage_layout telemetry watching",
        "msgspec",
    ),
    "shared.canary": _room(
        "errors http_errors model naming openlineage publishing reading records storage_layout translation telemetry",
        "msgspec requests",
    ),
    "shared.classifying": _room("atlas catalog errors governance lineage rules_file storage storage_layout", "msgspec"),
    "shared.serving": _room("errors lineage storage storage_layout telemetry texts", "msgspec"),
    "shared.settings": _room("errors"),
    "shared.adapters": _room("errors settings storage telemetry", "azure"),
    "shared.bootstrap_receiver": _room("errors openlineage adapters ingest redaction settings storage telemetry"),
    "shared.bootstrap_lineage": _room("adapters gc_tuning serving settings versions"),
    "shared.bootstrap": _room(
        "announcing applications canary catalog sweeping classifying forwarding gc_tuning governance concurrency "
        "errors naming openlineage adapters records events publishing settings storage telemetry translation watching",
        "pyapacheatlas",
    ),
    # the same meaning on Spark
    "throughline.lake": _room(  # its public names, loaded when they are used
        "throughline.lake.gold throughline.lake.pipeline throughline.lake.silver throughline.lake.submit "
        "throughline.lake.tables"
    ),
    "throughline.lake.engine_choice": _room("errors"),
    "throughline.lake.engine": _room(
        "gc_tuning throughline.lake.engine_choice",
        "msgspec numpy pandas pyarrow pyspark pysail",
    ),
    "throughline.lake.tables": _room("errors model openlineage translation throughline.lake.engine", "msgspec pyspark"),
    "throughline.lake.bronze": _room(
        "errors openlineage throughline.lake.engine throughline.lake.tables", "msgspec pyspark"
    ),
    "throughline.lake.silver": _room(
        "errors model naming openlineage plans translation throughline.lake.engine throughline.lake.tables "
        "throughline.lake.bronze",
        "msgspec pyspark sqlglot",
    ),
    "throughline.lake.gold": _room(
        "atlas completeness governance lineage model openlineage translation throughline.lake.engine "
        "throughline.lake.tables "
        "throughline.lake.silver",
        "numpy pandas pyarrow pyspark",
    ),
    "throughline.lake.pipeline": _room(
        "throughline.lake.engine throughline.lake.tables throughline.lake.bronze throughline.lake.silver "
        "throughline.lake.gold",
        "pyspark",
    ),
    "throughline.lake.submit": _room(
        "throughline.lake.tables throughline.lake.bronze throughline.lake.silver throughline.lake.pipeline", "pyspark"
    ),
    "throughline.lake.worker_daemon": _room("throughline.lake.pipeline", "pandas pyspark"),
    # the shells
    "receiver_function": _room("bootstrap_receiver errors ingest versions", "azure.functions"),
    "parser_function": _room("bootstrap errors events applications publishing storage_layout", "azure.functions"),
    "lineage_function": _room("bootstrap_lineage serving", "azure.functions"),
    "sweeper_function": _room(
        "announcing bootstrap canary errors forwarding maintenance publishing query records sweeping telemetry",
        "azure.functions",
    ),
}
"""Other rooms (`throughline` but for the lake) may import any package, and every room of shared by its door."""

SHELLS = frozenset(name for name in ROOMS if name.endswith("_function"))
NAME_ADAPTERS = frozenset({"shared.bootstrap", "shared.adapters"})
READ_ENVIRONMENT = frozenset(
    {
        "shared.settings.reading",
        "throughline.lake.engine.sail",  # writes Sail's settings, which Sail reads only from there
    }
)
GROUPS = ("shared", "throughline.lake")
"""Folders whose folders and modules are rooms."""


@cache
def _tree(source: str) -> ast.Module:
    return ast.parse(source)


def forbidden_imports(path: str, source: str) -> list[str]:
    """Yield the forbidden imports and reads of this file (by its path from the root), one sentence each."""
    module = _module(path)
    tree = _tree(source)
    sentences = [sentence for line, name in _imports(tree) for sentence in _judge(module, name, f"{path}:{line}")]
    if _room_of(module) in ROOMS and module not in READ_ENVIRONMENT:
        sentences += [
            f"{path}:{line}: reads the environment: only shared/settings/reading.py may" for line in _environment(tree)
        ]
    if _room_of(module) in SHELLS and len(source.splitlines()) >= LONGEST_SHELL:
        sentences.append(f"{path}: a shell has fewer than {LONGEST_SHELL} lines: move what it does into shared")
    return sentences


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and full name of all imports anywhere in the file; relative ones start with a dot."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level:
            yield node.lineno, "." * node.level + (node.module or "")
        elif isinstance(node, ast.ImportFrom) and node.module == "shared":
            yield from ((node.lineno, f"shared.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or ""


def _judge(module: str, name: str, place: str) -> Iterator[str]:
    own_room, other_room = _room_of(module), _room_of(name)
    if name.startswith("."):
        yield f"{place}: {name} is a relative import: write `from shared.room import …`"
        return
    if other_room == own_room:
        return
    if name in ADAPTERS and own_room not in NAME_ADAPTERS:
        yield f"{place}: {name} is an adapter: only shared/bootstrap.py and shared/adapters.py name adapters"
    room = ROOMS.get(own_room)
    if room is None:
        return
    if other_room.startswith(GROUPS):
        if other_room.removeprefix("shared.") not in room.rooms:
            yield f"{place}: {own_room} may not import {other_room}"
    elif name.partition(".")[0] not in sys.stdlib_module_names and not _allowed(name, room):
        yield f"{place}: {own_room} may not import {name}"


def _allowed(name: str, room: Room) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in room.packages)


def _room_of(name: str) -> str:
    """`shared.naming` of `shared.naming.stores.tables`, in the same way for all GROUPS; elsewhere the first part."""
    parts = name.split(".")
    depth = next((group.count(".") + 2 for group in GROUPS if f"{name}.".startswith(f"{group}.")), 1)
    return ".".join(parts[:depth])


def _environment(tree: ast.AST) -> Iterator[int]:
    names = {"environ", "environb", "getenv", "getenvb"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os":
            if node.attr in names:
                yield node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module == "os" and names & {name.name for name in node.names}:
            yield node.lineno


def _sources() -> dict[str, str]:
    folders = ("shared", "throughline", *SHELLS)
    paths = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in paths}


def test_no_room_has_a_forbidden_import() -> None:
    sources = _sources()
    assert len(sources) > 50
    assert [sentence for path, source in sources.items() for sentence in forbidden_imports(path, source)] == []


def test_the_table_lists_exactly_the_existing_rooms() -> None:
    """A new room must be added to the table before it can import anything."""
    source_rooms = {_room_of(_module(path)) for path in _sources()}
    assert {
        room for room in source_rooms if room in ROOMS or room.startswith(GROUPS) or room.endswith("_function")
    } == set(ROOMS)
    known_names = {*EVERYTHING.split(), *(room for room in ROOMS if room.startswith("throughline.lake."))}
    assert {room_name for room in ROOMS.values() for room_name in room.rooms} <= known_names


def import_circle(sources: Mapping[str, str]) -> list[str]:
    """Return a circle of modules that import each other anywhere in their files; empty if there is none."""
    trees = {_module(path): _tree(source) for path, source in sources.items()}
    arrows = {module: {*_imported(tree)} & (trees.keys() - {module}) for module, tree in trees.items()}
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def _imported(tree: ast.AST) -> Iterator[str]:
    """Return the names of all modules that a file may import: for `from a import b` both `a` and `a.b`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def folder_circle(sources: Mapping[str, str]) -> list[str]:
    """Return a circle of folders whose modules import each other; a module directly in `shared` is its own folder."""
    folders = {_module(path): _folder(path) for path in sources if not path.endswith("__init__.py")}
    arrows: dict[str, set[str]] = {}
    for path, source in sources.items():
        target_folders = {folders[name] for name in _imported(_tree(source)) if name in folders}
        arrows.setdefault(_folder(path), set()).update(target_folders - {_folder(path)})
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def _folder(path: str) -> str:
    folder = path.rpartition("/")[0]
    return _module(path) if folder == "shared" else folder.replace("/", ".")


def test_no_folders_import_each_other_in_a_circle() -> None:
    """A sub-room is imported by the other modules of its room or imports them, never both."""
    assert folder_circle({path: source for path, source in _sources().items() if path.startswith("shared/")}) == []


def test_a_planted_circle_of_folders_is_found() -> None:
    planted = {
        "shared/a/one.py": "from shared.a.b.two import x",
        "shared/a/b/two.py": "from shared.a import three",
        "shared/a/three.py": "",
        "shared/top.py": "import shared.a.one",
    }
    assert set(folder_circle(planted)) == {"shared.a", "shared.a.b"}


MAX_MODULES = 12


@pytest.mark.parametrize("top", ["shared", "throughline"])
def test_a_room_has_at_most_a_dozen_modules(top: str) -> None:
    sizes = Counter(
        path.parent.relative_to(ROOT).as_posix()
        for path in (ROOT / top).rglob("*.py")
        if not path.name.startswith("__")
    )
    del sizes["shared"]  # its modules are rooms
    assert {room: size for room, size in sizes.items() if size > MAX_MODULES} == {}


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert import_circle(_sources()) == []


def test_a_planted_circle_is_found() -> None:
    """Also a circle through a third module, and one that only type checkers follow."""
    planted = {
        "shared/a.py": "from shared import b",
        "shared/b.py": "def f():\n    import shared.c",
        "shared/c.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from shared.a import A",
        "shared/d.py": "import shared.a",
    }
    assert set(import_circle(planted)) == {"shared.a", "shared.b", "shared.c"}


PLANTED: dict[str, tuple[str, str, str]] = {
    "core imports azure": ("shared/naming/names.py", "import azure.storage.blob", "shared.naming may not import azure"),
    "core imports requests": ("shared/atlas/entities.py", "import requests", "may not import requests"),
    "core imports tenacity": ("shared/translation/x.py", "from tenacity import retry", "may not import tenacity"),
    "core imports pyapacheatlas": ("shared/atlas/x.py", "from pyapacheatlas.core import AtlasEntity", "may not import"),
    "core imports pyspark in a function": (
        "shared/openlineage/x.py",
        "def f():\n    from pyspark.sql import SparkSession",
        "shared/openlineage/x.py:2: shared.openlineage may not import pyspark.sql",
    ),
    "core imports a port": (
        "shared/translation/x.py",
        "from shared.storage import Storage",
        "may not import shared.storage",
    ),
    "core imports settings": ("shared/naming/x.py", "from shared import settings", "may not import shared.settings"),
    "pipeline imports requests": ("shared/publishing/publisher.py", "import requests", "may not import requests"),
    "pipeline imports azure": (
        "shared/publishing/x.py",
        "from azure.storage import blob",
        "may not import azure.storage",
    ),
    "storage imports pyapacheatlas": ("shared/storage/x.py", "import pyapacheatlas", "may not import pyapacheatlas"),
    "catalog imports pyspark": ("shared/catalog/x.py", "import pyspark", "may not import pyspark"),
    "shared imports local": (
        "shared/publishing/x.py",
        "from throughline.local.world import World",
        "may not import throughline.local.world",
    ),
    "shared imports cli": ("shared/bootstrap.py", "import throughline.cli.main", "may not import throughline.cli.main"),
    "the pipeline names an adapter": (
        "shared/publishing/x.py",
        "from shared.storage.azure import AzureStorage",
        "adapter",
    ),
    "the CLI names an adapter": (
        "throughline/cli/x.py",
        "from shared.catalog.atlas.catalog import AtlasCatalog",
        "adapter",
    ),
    "a shell names an adapter": (
        "parser_function/__init__.py",
        "import shared.catalog.connection.transport",
        "adapter",
    ),
    "a shell imports an SDK": (
        "receiver_function/__init__.py",
        "import azure.storage.blob",
        "may not import azure.storage",
    ),
    "a shell imports the core": (
        "receiver_function/__init__.py",
        "from shared.naming import canonical",
        "may not import",
    ),
    "the receiver knows what becomes of events": (
        "receiver_function/__init__.py",
        "from shared.applications import processor",
        "may not import shared.applications",
    ),
    "receiving translates": (
        "shared/ingest/receiver.py",
        "from shared.translation import redact",
        "may not import shared.translation",
    ),
    "the receiver's root names an adapter": (
        "shared/bootstrap_receiver.py",
        "from shared.storage.azure import AzureStorage",
        "adapter",
    ),
    "bronze imports gold": (
        "throughline/lake/bronze/x.py",
        "from throughline.lake.gold import impact",
        "may not import",
    ),
    "records import processing": (
        "shared/records/x.py",
        "from shared.applications import processor",
        "may not import shared.applications",
    ),
    "processing imports publishing": (
        "shared/applications/x.py",
        "from shared.publishing import publish",
        "may not import shared.publishing",
    ),
    "a relative import": ("shared/naming/x.py", "from .rules import rule", "relative import"),
    "a relative import of the parent": ("throughline/cli/x.py", "from .. import shared", "relative import"),
    "the environment in the pipeline": (
        "shared/publishing/x.py",
        "import os\nos.environ['A']",
        "x.py:2: reads the environ",
    ),
    "the environment by getenv": ("parser_function/__init__.py", "import os\nos.getenv('A')", "reads the environment"),
    "the environment beside its reader": ("shared/settings/table.py", "import os\nos.environ", "reads the environment"),
    "the environment by name": ("shared/bootstrap.py", "from os import environ", "reads the environment"),
    "a long shell": ("parser_function/__init__.py", "x = 1\n" * LONGEST_SHELL, "fewer than 60 lines"),
}


@pytest.mark.parametrize(("path", "source", "message"), PLANTED.values(), ids=PLANTED)
def test_the_checker_finds_planted_mistakes(path: str, source: str, message: str) -> None:
    sentences = forbidden_imports(path, source)
    assert any(message in sentence for sentence in sentences), sentences
    assert all(sentence.startswith(path) for sentence in sentences)


ACCEPTED: dict[str, tuple[str, str]] = {
    "standard library": ("shared/naming/x.py", "import re\nfrom collections.abc import Iterator"),
    "its own inner modules": ("shared/naming/stores/tables.py", "from shared.naming.stores import families"),
    "a module of another room": ("shared/translation/x.py", "from shared.openlineage.merging import merge"),
    "bootstrap names adapters": ("shared/bootstrap.py", "from shared.catalog.atlas.catalog import AtlasCatalog"),
    "parts name adapters": ("shared/adapters.py", "from shared.storage.azure import AzureStorage"),
    "an adapter's own neighbour": (
        "shared/catalog/atlas/catalog.py",
        "from shared.catalog.connection.transport import SteadyAtlasClient",
    ),
    "settings read the environment": ("shared/settings/reading.py", "import os\nos.environ['A']"),
    "the local world reads the environment": ("throughline/local/x.py", "import os\nos.environ['A']"),
    "a shell": (
        "parser_function/__init__.py",
        "import azure.functions as func\nfrom shared.applications import publish",
    ),
}


@pytest.mark.parametrize(("path", "source"), ACCEPTED.values(), ids=ACCEPTED)
def test_the_checker_accepts_correct_code(path: str, source: str) -> None:
    assert forbidden_imports(path, source) == []


NOT_LOADED_BY_THE_RECEIVER = (
    *(
        "shared.bootstrap",
        "shared.applications",
        "shared.publishing",
        "shared.catalog",
        "shared.atlas",
        "shared.translation",
        "shared.naming",
    ),
    *("shared.redaction", "shared.telemetry.otel", "pyapacheatlas", "sqlglot", "tomllib", "opentelemetry"),
)
"""Modules that slow a cold start too much: Spark waits at most five seconds for the first answer."""


def test_the_receiver_imports_only_the_modules_that_receiving_needs() -> None:
    """Neither its shell nor the parts of the first call do, with default settings."""
    code = """
import sys
import receiver_function
from shared.bootstrap_receiver import receiver
receiver()
print(*sys.modules)
"""
    nowhere = "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=a2V5;BlobEndpoint=http://127.0.0.1:1/a;TableEndpoint=http://127.0.0.1:1/a;"
    command = [sys.executable, "-c", code]
    outcome = subprocess.run(
        command, cwd=ROOT, env={"AzureWebJobsStorage": nowhere}, capture_output=True, text=True, check=True
    )
    loaded = set(outcome.stdout.split())
    assert {"shared.ingest.receiver", "azure.storage.blob"} <= loaded
    assert sorted(loaded & set(NOT_LOADED_BY_THE_RECEIVER)) == []
