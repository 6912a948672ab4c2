"""Tables that can be read at 80 columns: long names are folded at their separators, and no word is lost."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from cli.ui.console import out

_GAP = 2
INDENT = 4
_NARROWEST = 12
"""Columns of text get at least so much, however narrow the terminal is."""

_PIECES = re.compile(r"[^/._\-:@\s]*[/._\-:@\s]?")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """A column: numbers are set at the right and never folded; text is folded to what space is left."""

    title: str
    number: bool = False


def text_column(title: str) -> TableColumn:
    """A column of names or sentences."""
    return TableColumn(title=title)


def number_column(title: str) -> TableColumn:
    """A column of numbers."""
    return TableColumn(title=title, number=True)


def print_table(
    columns: Sequence[TableColumn],
    rows: Sequence[Sequence[str]],
    *,
    notes: Sequence[Sequence[str]] = (),
    wide: bool = False,
) -> None:
    """Print rows below their titles; with `wide` each on one line. `notes` are lines to print below each row."""
    cells = [[each.title for each in columns], *rows]
    widths = [max(len(row[index]) for row in cells) for index in range(len(columns))]
    if not wide:
        widths = _fitted(columns, cells, widths, out.width)
    for number, row in enumerate(cells):
        folds = [fold(cell, width) for cell, width in zip(row, widths, strict=True)]
        for line in range(max(map(len, folds))):
            pieces = [each[line] if line < len(each) else "" for each in folds]
            aligned = [
                piece.rjust(width) if column.number else piece.ljust(width)
                for column, piece, width in zip(columns, pieces, widths, strict=True)
            ]
            out.print(Text((" " * _GAP).join(aligned).rstrip(), style="bold" if number == 0 else ""))
        for sentence in notes[number - 1] if 0 < number <= len(notes) else ():
            for piece in fold(sentence, out.width - INDENT):
                out.print(Text(" " * INDENT + piece, style="dim"))


def _fitted(columns: Sequence[TableColumn], cells: Sequence[Sequence[str]], widths: list[int], room: int) -> list[int]:
    """Widths that fit: titles of numbers are folded between words, then the widest text gives way, one by one."""
    words = [max(map(len, column.title.split()), default=0) for column in columns]
    bodies = [max((len(row[index]) for row in cells[1:]), default=0) for index in range(len(columns))]
    found = list(widths)
    if sum(found) + _GAP * (len(found) - 1) > room:
        found = [
            max(word, body) if column.number else width
            for column, word, body, width in zip(columns, words, bodies, widths, strict=True)
        ]
    texts = [index for index, column in enumerate(columns) if not column.number]
    while texts and sum(found) + _GAP * (len(found) - 1) > room:
        widest = max(texts, key=lambda index: found[index])
        if found[widest] <= max(_NARROWEST, words[widest]):
            break
        found[widest] -= 1
    return found


def fold(text: str, width: int) -> list[str]:
    """A text in lines of at most `width`: broken after a separator or a blank, inside a word only where it has none."""
    lines = [""]
    for piece in filter(None, _PIECES.findall(text)):
        if len(lines[-1]) + len(piece.rstrip()) <= width:
            lines[-1] += piece
            continue
        rest = piece
        if lines[-1]:
            lines.append("")
        while len(rest.rstrip()) > width:
            lines[-1] = rest[:width]
            rest = rest[width:]
            lines.append("")
        lines[-1] = rest
    return [line.rstrip() for line in lines]
