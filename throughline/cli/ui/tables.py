"""Tables and facts that can be read at 80 columns, and copied from: text is folded between words, never in a name."""

import textwrap
from collections.abc import Collection, Sequence
from itertools import zip_longest

from rich.text import Text

from shared.texts import visible
from throughline.cli.ui.console import out

_GAP = 2
INDENT = 4
_NARROWEST = 12
"""Columns of text get at least so much, however narrow the terminal is."""


def print_table(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Collection[str] = (),
    notes: Sequence[Sequence[str]] = (),
    wide: bool = False,
    only_wide: int = 0,
) -> None:
    """Print rows below their titles; with `wide`, and elsewhere than at a terminal, each on one line.

    Columns whose titles are among `numbers` are set at the right. At a terminal text is folded to what space is left;
    where names leave too little, the longest ones get lines of their own, which may run on and stand for the rows
    below them. `notes` are lines to print
    below each row; the last `only_wide` columns are left out unless `wide`.
    """
    column_count = len(titles) if wide else len(titles) - only_wide
    cells = [tuple(map(visible, row[:column_count])) for row in (titles, *rows)]
    at_right = [title in numbers for title in cells[0]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    is_folded = out.is_terminal and not wide
    line_columns: tuple[int, ...] = ()
    if is_folded:
        line_columns, widths = _fitted(cells, at_right, widths, out.width)
    indent = " " * INDENT if line_columns else ""
    row_columns = [column for column in range(column_count) if column not in line_columns]
    names_above: list[str] = []
    for row, sentences in zip_longest(cells, ((), *notes), fillvalue=()):
        style = "bold" if row is cells[0] else ""
        names = [row[column] for column in line_columns]
        for name in names if names != names_above else ():
            out.print(Text(name, style=style))
        names_above = names
        folds = [fold(row[column], widths[column]) if is_folded else [row[column]] for column in row_columns]
        for pieces in zip_longest(*folds, fillvalue=""):
            aligned = [
                piece.rjust(widths[column]) if at_right[column] else piece.ljust(widths[column])
                for piece, column in zip(pieces, row_columns, strict=True)
            ]
            out.print(Text(indent + (" " * _GAP).join(aligned).rstrip(), style=style))
        for sentence in sentences:
            for piece in fold(visible(sentence), out.width - INDENT) if is_folded else [visible(sentence)]:
                out.print(Text(" " * INDENT + piece, style="dim"))


def _fitted(
    cells: Sequence[Sequence[str]], at_right: Sequence[bool], widths: Sequence[int], room: int
) -> tuple[tuple[int, ...], list[int]]:
    """The columns that get lines of their own, and the widths of the others: those of text give way as far as their
    longest words, the widest first; then the column with the longest word goes, until the others fit.
    """
    columns = [*zip(*cells, strict=True)]
    least_widths = [
        max(
            _longest_word([column[0]] if is_number else column),
            max(map(len, column[1:]), default=0) if is_number else min(width, _NARROWEST),
        )
        for column, is_number, width in zip(columns, at_right, widths, strict=True)
    ]
    line_columns: tuple[int, ...] = ()
    row_columns = list(range(len(at_right)))

    def excess(column_widths: Sequence[int]) -> int:
        width = sum(column_widths[column] + _GAP for column in row_columns) - _GAP
        return width + (INDENT if line_columns else 0) - room

    while excess(least_widths) > 0:
        texts = [column for column in row_columns if not at_right[column]]
        if not texts or len(row_columns) == 1:
            break
        line_columns = tuple(sorted((*line_columns, max(texts, key=least_widths.__getitem__))))
        row_columns = [column for column in row_columns if column not in line_columns]
    fitted_widths = list(widths)
    while excess(fitted_widths) > 0:
        shrinkable = [column for column in row_columns if fitted_widths[column] > least_widths[column]]
        if not shrinkable:
            break
        widest = max(shrinkable, key=lambda column: (at_right[column], fitted_widths[column]))
        fitted_widths[widest] = least_widths[widest] if at_right[widest] else fitted_widths[widest] - 1
    return line_columns, fitted_widths


def _longest_word(texts: Sequence[str]) -> int:
    return max((len(word) for text in texts for word in text.split()), default=0)


def fold(text: str, width: int) -> list[str]:
    """A text in lines of at most `width`, broken between words; a longer word has a line of its own, which runs on."""
    return textwrap.wrap(text, max(width, 1), break_long_words=False, break_on_hyphens=False) or [""]


_TITLE_WIDTH = 14
_NARROWEST_VALUE = 20


def print_fact(title: str, *values: str, style: str = "") -> None:
    """Print values below one another beside their title, at a terminal folded between words. Empty ones are left out,
    and the title where there is no other.
    """
    for value in filter(None, values):
        room = max(out.width - _TITLE_WIDTH - 1, _NARROWEST_VALUE)
        for line in fold(visible(value), room) if out.is_terminal else [visible(value)]:
            out.print(Text.assemble((f"{title:{_TITLE_WIDTH}} ", "bold"), (line, style)))
            title = ""
