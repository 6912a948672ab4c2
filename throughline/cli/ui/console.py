"""Output of all commands: results on standard output, progress and errors on standard error."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, NoReturn, TypeVar

import msgspec
import typer
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markup import escape
from rich.measure import Measurement
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.segment import Segment
from rich.text import Text
from rich.tree import Tree

from shared.texts import visible, visible_lines

T = TypeVar("T")


class SafeConsole(Console):
    """A console that shows marks that act as escapes, whatever text reaches it, and obeys only rich's own."""

    def render_str(self, text: str, **options: Any) -> Text:
        """A text as rich renders it, and measures it for tables."""
        return super().render_str(visible_lines(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of a renderable, their texts made visible."""
        for segment in super().render(renderable, options):
            text = segment.text
            visible_text = text if segment.control or text == "\n" else visible_lines(text)
            yield segment if visible_text == text else segment._replace(text=visible_text)


out = SafeConsole(highlight=False, soft_wrap=True)
"""Results: may be piped."""

err = SafeConsole(stderr=True, highlight=False)
"""Progress and problems."""


def fail(sentence: str, *, code: int = 1) -> NoReturn:
    """End the command with one clear sentence."""
    err.print(f"[bold red]error:[/] {plain_lines(sentence)}", soft_wrap=True)
    raise typer.Exit(code)


def plain(value: object) -> str:
    """A value from outside on one line, escaped: names like `[dbo].[orders]` look like rich's markup."""
    return escape(visible(value))


def plain_lines(text: str) -> str:
    """The same for a text whose line ends are ours."""
    return escape(visible_lines(text))


def note(subject: str, sentence: str) -> None:
    """Print one line about the result to standard error."""
    err.print(f"[yellow]{subject}:[/] {plain_lines(sentence)}", soft_wrap=True)


def note_first(subject: str, sentences: Sequence[str], limit: int = 10) -> None:
    """The same of several sentences: the first ones, and how many more there are, which --json has."""
    for sentence in sentences[:limit]:
        note(subject, sentence)
    if len(sentences) > limit:
        note(subject, f"and {len(sentences) - limit:,} more, which `--by-file --json` lists")


def counted(number: int, noun: str) -> str:
    """A number of things: `1 run`, `2 runs`, `1,000 processes`."""
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def listed(lines: Iterable[str], limit: int, option: str = "--most") -> None:
    """Print at most so many lines (0: all), and how many are left out, which `option` shows."""
    known_lines = list(lines)
    for line in known_lines[: limit or None]:
        out.print(f"  {line}")
    if limit and len(known_lines) > limit:
        out.print(f"  and {len(known_lines) - limit:,} more ({option})")


def left_out(number: int) -> str:
    """The end of a line of counts: how many are not listed; empty for none."""
    return f"; {number:,} not shown (--most)" if number else ""


def print_json(value: Any) -> None:
    """Print a value (data classes too) as JSON in ASCII on standard output; times as ISO 8601, in their own zone."""
    plain_values = msgspec.to_builtins(value, builtin_types=(datetime,))
    sys.stdout.write(json.dumps(plain_values, indent=2, default=datetime.isoformat) + "\n")


def print_tree(tree: Tree) -> None:
    """Print a tree whole: its lines are folded between words at a terminal, and as long as they are elsewhere."""
    out.print(_Whole(tree))


_LONGEST_LINE = 100_000


@dataclass(frozen=True, slots=True)
class _Whole:
    """A tree that is never cut, and no name in it broken: rich's own ignores `soft_wrap`, and cuts at the width."""

    tree: Tree

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        least_width = Measurement.get(console, options.update(width=_LONGEST_LINE), self.tree).minimum
        width = max(options.max_width, least_width) if console.is_terminal else _LONGEST_LINE
        yield from console.render(self.tree, options.update(width=width, no_wrap=False, overflow="fold"))


def progress_bar() -> Progress:
    """A bar for long work, on standard error."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=err,
        transient=True,
    )


@contextmanager
def bar(title: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """A bar for one piece of long work: yields the function that changes it, with the options of rich's
    `Progress.update`, such as `advance`, `completed` and `description`.
    """
    with progress_bar() as progress:
        yield partial(progress.update, progress.add_task(title, total=total))


def tracked(items: Iterable[T], title: str, total: int | None = None) -> Iterator[T]:
    """The same items, with a bar that advances by each."""
    with bar(title, total) as update:
        for item in items:
            yield item
            update(advance=1)


@contextmanager
def reading_bars() -> Iterator[Callable[[str, int], None]]:
    """A function to call with what is being read and how many more of it were: it keeps a bar for each."""
    with progress_bar() as progress:
        tasks: dict[str, TaskID] = {}

        def seen(kind: str, number: int) -> None:
            if kind not in tasks:
                tasks[kind] = progress.add_task(f"reading {kind}", total=None)
            progress.advance(tasks[kind], number)

        yield seen
