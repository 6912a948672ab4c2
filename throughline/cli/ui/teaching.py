"""Help that teaches: prose as wide as the terminal, examples that can be copied, flags without a value's type."""

import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

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


def _light(parameters: list[Any]) -> list[Any]:
    """The same, but flags show no type in the help, as they take no value, and plain values are not converted."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
        if "process_value" not in vars(parameter):
            parameter.process_value = partial(_processed, parameter, parameter.process_value)
    return parameters


def _processed(parameter: Any, process_value: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    """As click's `process_value`, except that a value which needs no conversion does not reach typer's, which imports
    pydantic: a fifth of the CPU of a start.
    """
    plain = _plain(parameter, value)
    if plain is _OTHER or (parameter.required and not plain):
        return process_value(ctx, value)
    return parameter.callback(ctx, parameter, plain) if parameter.callback else plain


_OTHER = object()


def _plain(parameter: Any, value: Any) -> Any:
    """What typer makes of a value that needs no conversion; `_OTHER` for any other value."""
    kind, info = parameter.type_descriptor.annotation, parameter.type_descriptor.parameter_info
    several = parameter.multiple or parameter.nargs == -1
    if value is None:
        return () if several else None
    if several:
        texts = isinstance(value, list | tuple) and kind == list[str] and all(map(str.isascii, value))
        return list(value) if texts else _OTHER
    if kind in _NUMBERS:
        low, high = getattr(parameter, "min", None), getattr(parameter, "max", None)
        within = type(value) is kind and (low is None or low <= value) and (high is None or value <= high)
        return value if within else _OTHER
    if kind is Path:
        path, checked = Path(value), info.exists or info.writable or not (info.file_okay and info.dir_okay)
        usual = str(path) == str(value) and str(path).isascii() and not (checked or info.resolve_path)
        return path if usual and (os.access(path, os.R_OK) or not os.access(path, os.F_OK)) else _OTHER
    plain = isinstance(value, str) and value.isascii() and (kind is str or value in get_args(kind))
    return value if plain else _OTHER


_NUMBERS: Mapping[type, str] = {int: "a whole number", float: "a number"}


def _number_wanted(parameter: Any) -> str:
    """What number an option takes; empty for an option of another type."""
    kind = _NUMBERS.get(parameter.type_descriptor.annotation, "")
    lowest, highest = getattr(parameter, "min", None), getattr(parameter, "max", None)
    if not kind or lowest is None:
        return kind
    return f"{kind} of at least {lowest}" if highest is None else f"{kind} from {lowest} to {highest}"


def _import_help() -> None:
    """Import typer's help without rich's Markdown and tracebacks, which are a quarter of the CPU of a start: the
    applications here have rich's markup, and no tracebacks of typer's.
    """
    unused = {"rich.markdown": "Markdown", "rich.traceback": "Traceback"}
    stand_ins = {name: ModuleType(name) for name in unused if name not in sys.modules}
    for name, module in stand_ins.items():
        setattr(module, unused[name], type(unused[name], (), {}))
    sys.modules.update(stand_ins)
    try:
        importlib.import_module("typer.rich_utils")
    finally:
        for name in stand_ins:
            del sys.modules[name]


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

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """As typer's, with arguments in capitals and without braces, as the reference pages write them."""
        return [piece.upper().strip("{").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def get_params(self, ctx: Any) -> list[Any]:
        """As typer's, with `_light` parameters."""
        return _light(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """As typer's."""
        _import_help()
        super().format_help(ctx, formatter)


class TeachingGroup(TyperGroup):
    """A group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """As typer's, with `_light` parameters."""
        return _light(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """As typer's."""
        _import_help()
        super().format_help(ctx, formatter)


class TeachingApp(typer.Typer):
    """A typer application with such commands."""

    def __init__(self, *, group: type[TeachingGroup] = TeachingGroup, **options: Any) -> None:
        super().__init__(
            cls=group, no_args_is_help=True, rich_markup_mode="rich", pretty_exceptions_enable=False, **options
        )

    def add(self, name: str, function: Callable[..., None], *, panel: str | None = None) -> None:
        """Add a command that is named so, in a panel of the help."""
        self.command(name, cls=Command, rich_help_panel=panel)(function)
