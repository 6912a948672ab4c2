"""Commands that are loaded when they are used: `throughline --help` needs none of their modules."""

import copy
from collections.abc import Callable, Iterator, Mapping, MutableMapping
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


class _LoadedCommands(MutableMapping[str, Any]):
    """The commands by name; reading one loads it, once."""

    def __init__(self, panels: Panels) -> None:
        self._places = {name: (place, panel) for panel, places in panels.items() for name, place in places.items()}
        self._commands: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._commands:
            place, panel = self._places[name]
            self._commands[name] = load(place, name, panel)
        return self._commands[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._commands[name] = command

    def __delitem__(self, name: str) -> None:
        del self._places[name]
        self._commands.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class LazyGroup(TeachingGroup):
    """A group whose commands are those of `panels`."""

    panels: ClassVar[Panels] = {}

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = _LoadedCommands(self.panels)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help with the first paragraphs of the commands' own, for which none is loaded."""
        listing = copy.copy(self)
        listing.commands = {
            name: Command(name=name, help=summary(*f"{_COMMANDS}{place}".split(":")), rich_help_panel=panel)
            for panel, places in self.panels.items()
            for name, place in places.items()
        }
        TeachingGroup.format_help(listing, ctx, formatter)
