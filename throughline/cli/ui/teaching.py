"""Help that teaches: prose as wide as the terminal, examples that can be copied, flags without a value's type."""

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

WIDTH = 76
"""Columns that an example may take in a terminal of 80."""

_WORD = re.compile(r"""(?:--[\w-]+\s+(?![-|]))?(?:[^\s'"]|'[^']*'|"[^"]*")+""")
"""A word of a shell; an option together with its value."""


_EXAMPLE = ("    ", "throughline ")
"""How examples begin: indented, but below a docstring's only sentence, where nothing else sets the margin."""


def shaped(text: str | None) -> str:
    """A docstring as typer takes it: paragraphs on one line; examples, which are indented, keep their lines."""
    paragraphs = inspect.cleandoc(text or "").split("\n\n")
    return "\n\n".join(
        "\b\n" + "\n".join(map(folded, paragraph.splitlines()))
        if paragraph.startswith(_EXAMPLE)
        else paragraph.replace("\n", " ")
        for paragraph in paragraphs
    )


def folded(line: str, width: int = WIDTH) -> str:
    """An example that is longer than `width` on several lines, broken between words by a shell's backslash."""
    lines, last = [], ""
    for word in _WORD.findall(line):
        if last and len(f"{last} {word} \\") > width:
            lines.append(f"{last} \\")
            last = f"    {word}"
        else:
            last = f"{last} {word}".lstrip() if not lines else f"{last} {word}"
    return "\n".join([*lines, last])


def _typeless_flags(parameters: list[Any]) -> list[Any]:
    """The same, but flags show no type in the help, as they take no value."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


_NUMBERS: Mapping[type, str] = {int: "a whole number", float: "a number"}


def _number_wanted(parameter: Any) -> str:
    """What number an option takes; empty for an option of another type."""
    kind = _NUMBERS.get(parameter.type_descriptor.annotation, "")
    lowest, highest = getattr(parameter, "min", None), getattr(parameter, "max", None)
    if not kind or lowest is None:
        return kind
    return f"{kind} of at least {lowest}" if highest is None else f"{kind} from {lowest} to {highest}"


class Command(TyperCommand):
    """A command whose docstring is its help."""

    def __init__(self, *args: Any, help: str | None = None, **options: Any) -> None:  # noqa: A002 - typer's own name
        super().__init__(*args, help=shaped(help), **options)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As typer's, but the error for a wrong number says which numbers the option takes."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            if expected_number := _number_wanted(error.param) if error.param else "":
                error.message = f"write {expected_number}"
            raise

    def invoke(self, ctx: Any) -> Any:
        """As typer's, but an error that Throughline raises on purpose ends the command with one sentence."""
        from throughline.cli.ui.failures import reported  # noqa: PLC0415 - no help needs it

        with reported():
            return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """As typer's, with arguments in capitals and without braces, as the reference pages write them."""
        return [piece.upper().strip("{").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def get_params(self, ctx: Any) -> list[Any]:
        """As typer's, but flags without a type."""
        return _typeless_flags(super().get_params(ctx))


class TeachingGroup(TyperGroup):
    """A group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """As typer's, but flags without a type."""
        return _typeless_flags(super().get_params(ctx))


class TeachingApp(typer.Typer):
    """A typer application with such commands."""

    def __init__(self, *, group: type[TeachingGroup] = TeachingGroup, **options: Any) -> None:
        super().__init__(
            cls=group, no_args_is_help=True, rich_markup_mode="rich", pretty_exceptions_enable=False, **options
        )

    def add(self, name: str, function: Callable[..., None]) -> None:
        """Add a command that is named so."""
        self.command(name, cls=Command)(function)
