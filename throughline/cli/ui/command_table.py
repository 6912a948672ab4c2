"""Commands that are loaded when they are used: `throughline --help` needs none of their modules."""

import copy
from collections import UserDict
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import typer.main
from typer.models import CommandInfo

from throughline.cli.ui.signatures import signature, summary
from throughline.cli.ui.teaching import Command, TeachingApp, TeachingGroup

_COMMANDS = "throughline.cli.commands."

Panels = Mapping[str, Mapping[str, str]]
"""Where the commands are below `_COMMANDS`, as `module:name` of a function or a `TeachingApp`: by the panel of the help
and by the name of the command, in the order of the help.
"""


def load(place: str, name: str, panel: str) -> Any:
    """The command at a place, whose module is imported when it is called (`ui/signatures.py`)."""
    return command_of(signature(*f"{_COMMANDS}{place}".split(":")), name, panel)


def command_of(value: TeachingApp | Callable[..., None], name: str, panel: str) -> Any:
    """The command of a function, or the group of an application, named so in a panel of the help."""
    if isinstance(value, TeachingApp):
        command: Any = typer.main.get_group(value)
        command.name, command.rich_help_panel = name, panel
        return command
    info = CommandInfo(name=name, callback=value, cls=Command, rich_help_panel=panel)
    return typer.main.get_command_from_info(info, pretty_exceptions_short=False, rich_markup_mode="rich")


class _LoadedCommands(UserDict[str, Any]):
    """The commands by name: the place and the panel of each, until reading it loads it, once."""

    def __getitem__(self, name: str) -> Any:
        command = super().__getitem__(name)
        if isinstance(command, tuple):
            place, panel = command
            command = self[name] = load(place, name, panel)
        return command


class LazyGroup(TeachingGroup):
    """A group whose commands are those of `panels`."""

    panels: ClassVar[Panels] = {}

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = _LoadedCommands(
            {name: (place, panel) for panel, places in self.panels.items() for name, place in places.items()}
        )

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help with the first paragraphs of the commands' own, for which none is loaded."""
        listing = copy.copy(self)
        listing.commands = {
            name: Command(name=name, help=summary(*f"{_COMMANDS}{place}".split(":")), rich_help_panel=panel)
            for panel, places in self.panels.items()
            for name, place in places.items()
        }
        TeachingGroup.format_help(listing, ctx, formatter)
