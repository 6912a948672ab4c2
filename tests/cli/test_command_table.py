"""Commands are loaded when they are used, and the help says of each what its docstring says."""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import typer.main

from throughline.cli.main import GROUPS, app
from throughline.cli.ui.command_table import command_of, load
from throughline.cli.ui.signatures import summary

ROWS = [(name, panel, place) for panel, places in GROUPS.items() for name, place in places.items()]
LOADED = """
import contextlib, io, sys
from throughline.cli.main import GROUPS, main
for name in ("", *(name for rows in GROUPS.values() for name in rows)):
    sys.argv = ["throughline", *name.split(), "--help"]
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as text:
        main()
    assert "Usage: throughline" in text.getvalue(), name
print(*(name for name, module in sys.modules.items() if not str(module).endswith("__init__.py'>")))
"""
CALLED = """
import sys
from throughline.cli.main import main
try:
    main()
finally:
    print(*sys.modules)
"""
LOADED_ROOMS = {
    "shared.catalog.connection.dialect",
    "shared.errors",
    "shared.settings.kinds",
    "shared.settings.reading",
    "shared.settings.table",
    "shared.settings.values",
    "throughline.cli.main",
    "throughline.cli.platforms.table",
    "throughline.cli.platforms.texts",
    "throughline.cli.ui.command_table",
    "throughline.cli.ui.signatures",
    "throughline.cli.ui.teaching",
    "throughline.lake.engine_choice",
}
"""Modules of ours that the help of all commands needs: the table and what it is of, the settings, and modules that
have a class which a signature names.
"""
PACKAGES = {"annotated_doc", "rich", "shellingham", "typer"}
MOST_MODULES = 100
"""Of ours and of these packages: 600 were loaded when each command was imported for its help."""


def helps(command: Any, context: typer.Context) -> Iterator[str]:
    """The help of a command and of its own commands, to the last word of it."""
    yield command.get_help(context)
    for name, part in getattr(command, "commands", {}).items():
        yield from helps(part, typer.Context(part, info_name=name, parent=context))


@pytest.mark.parametrize(("name", "panel", "place"), ROWS, ids=[name for name, _, _ in ROWS])
def test_the_help_lists_a_command_by_the_first_paragraph_of_its_own(name: str, panel: str, place: str) -> None:
    command = load(place, name, panel)
    first_paragraph = summary(*f"throughline.cli.commands.{place}".split(":")).replace("\n", " ")
    assert command.help.split("\n\n")[0].replace("\n", " ") == first_paragraph != ""
    assert (command.name, command.rich_help_panel) == (name, panel)


@pytest.mark.parametrize(("name", "panel", "place"), ROWS, ids=[name for name, _, _ in ROWS])
def test_the_signature_alone_gives_the_same_help_as_the_command(
    name: str, panel: str, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    module, _, attribute = place.partition(":")
    whole = command_of(getattr(importlib.import_module(f"throughline.cli.commands.{module}"), attribute), name, panel)
    shown = []
    for command in (load(place, name, panel), whole):
        texts = list(helps(command, typer.Context(command, info_name=name)))
        shown.append((texts, capsys.readouterr().out))
    assert shown[0] == shown[1]
    assert name in shown[0][1]


def test_the_help_of_all_commands_loads_no_command() -> None:
    run = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    modules = [module for module in run.stdout.split() if module.split(".")[0] in {"shared", "throughline", *PACKAGES}]
    assert {module for module in modules if module.startswith(("shared", "throughline"))} == LOADED_ROOMS
    assert len(modules) <= MOST_MODULES
    assert not {"msgspec", "requests"} & set(run.stdout.split())


@pytest.mark.parametrize("command", ["show orders", "status", "run a-run"])
def test_a_command_that_reads_the_record_loads_neither_the_local_world_nor_a_lake(command: str, tmp_path: Path) -> None:
    words = [sys.executable, "-c", CALLED, *command.split(), "--home", str(tmp_path)]
    run = subprocess.run(words, capture_output=True, text=True, env={}, check=False)
    assert "no local world runs" in " ".join(run.stderr.split())
    modules = set(run.stdout.split())
    assert "shared.bootstrap" in modules
    assert not {"asyncio", "psutil", "pyspark"} & modules
    local = {module for module in modules if module.startswith("throughline.local.")}
    assert local == {"throughline.local.running_world"}


def test_a_command_is_loaded_once() -> None:
    root: Any = typer.main.get_command(app)
    assert root.commands["types"] is root.commands["types"]
    assert len(root.commands) == len(ROWS) == len(list(root.commands))
