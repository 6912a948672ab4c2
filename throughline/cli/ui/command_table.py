"""Commands that are loaded when they are used: `throughline --help` needs none of their modules."""

import copy
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, ClassVar

import typer.main
from typer.models import CommandInfo

from throughline.cli.ui.signatures import signature
from throughline.cli.ui.teaching import Command, TeachingApp, TeachingGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRow:
    """A command before it is loaded: its function or `TeachingApp` as `module:name`, and its first paragraph."""

    place: str
    summary: str

    def load(self, name: str, panel: str) -> Any:
        """Return the command, whose module is imported when it is called (`ui/signatures.py`)."""
        return command_of(signature(*self.place.split(":")), name, panel)


def command_of(value: TeachingApp | Callable[..., None], name: str, panel: str) -> Any:
    """The command of a function, or the group of an application, named so in a panel of the help."""
    if isinstance(value, TeachingApp):
        command: Any = typer.main.get_group(value)
        command.name, command.rich_help_panel = name, panel
        return command
    info = CommandInfo(name=name, callback=value, cls=Command, rich_help_panel=panel)
    return typer.main.get_command_from_info(info, pretty_exceptions_short=False, rich_markup_mode="rich")


Panels = Mapping[str, Mapping[str, CommandRow]]
"""The rows by the panel of the help and by the name, in the order of the help."""


class _LoadedCommands(MutableMapping[str, Any]):
    """The commands by name; reading one loads it, once."""

    def __init__(self, panels: Panels) -> None:
        self._rows = {name: (panel, row) for panel, rows in panels.items() for name, row in rows.items()}
        self._commands: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._commands:
            panel, row = self._rows[name]
            self._commands[name] = row.load(name, panel)
        return self._commands[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._commands[name] = command

    def __delitem__(self, name: str) -> None:
        del self._rows[name]
        self._commands.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class LazyGroup(TeachingGroup):
    """A group whose commands are the rows of `panels`."""

    panels: ClassVar[Panels] = {}

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = _LoadedCommands(self.panels)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help with the summaries of the rows, so that no command is loaded."""
        listing = copy.copy(self)
        listing.commands = {
            name: Command(name=name, help=row.summary, rich_help_panel=panel)
            for panel, rows in self.panels.items()
            for name, row in rows.items()
        }
        TeachingGroup.format_help(listing, ctx, formatter)
