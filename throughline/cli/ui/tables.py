"""Tables that can be read at 80 columns: long names are folded at their separators, and no word is lost."""

import re
from collections.abc import Collection, Sequence
from itertools import zip_longest

from rich.text import Text

from shared.texts import visible
from throughline.cli.ui.console import out

_GAP = 2
INDENT = 4
_NARROWEST = 12
"""Columns of text get at least so much, however narrow the terminal is."""

_PIECES = re.compile(r"[^/._\-:@\s]*[/._\-:@\s]?")


def print_table(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Collection[str] = (),
    notes: Sequence[Sequence[str]] = (),
    wide: bool = False,
    only_wide: int = 0,
) -> None:
    """Print rows below their titles; with `wide` each on one line.

    Columns whose titles are among `numbers` are set at the right and never folded; text is folded to what space is
    left. `notes` are lines to print below each row; the last `only_wide` columns are left out unless `wide`.
    """
    column_count = len(titles) if wide else len(titles) - only_wide
    cells = [tuple(map(visible, row[:column_count])) for row in (titles, *rows)]
    at_right = [title in numbers for title in cells[0]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    if not wide:
        widths = _fitted(cells, at_right, widths, out.width)
    for row, sentences in zip_longest(cells, ((), *notes), fillvalue=()):
        folds = [fold(cell, width) for cell, width in zip(row, widths, strict=True)]
        for pieces in zip_longest(*folds, fillvalue=""):
            aligned = [
                piece.rjust(width) if right else piece.ljust(width)
                for piece, width, right in zip(pieces, widths, at_right, strict=True)
            ]
            out.print(Text((" " * _GAP).join(aligned).rstrip(), style="bold" if row is cells[0] else ""))
        for sentence in sentences:
            for piece in fold(visible(sentence), out.width - INDENT):
                out.print(Text(" " * INDENT + piece, style="dim"))


def _fitted(cells: Sequence[Sequence[str]], at_right: Sequence[bool], widths: list[int], room: int) -> list[int]:
    """Widths that fit: titles of numbers are folded between words, then the widest text gives way, one by one."""
    words = [max(map(len, title.split()), default=0) for title in cells[0]]
    bodies = [max(map(len, column[1:]), default=0) for column in zip(*cells, strict=True)]
    fitted_widths = list(widths)
    if sum(fitted_widths) + _GAP * (len(fitted_widths) - 1) > room:
        fitted_widths = [
            max(word, body) if right else width
            for word, body, width, right in zip(words, bodies, widths, at_right, strict=True)
        ]
    texts = [index for index, right in enumerate(at_right) if not right]
    while texts and sum(fitted_widths) + _GAP * (len(fitted_widths) - 1) > room:
        widest = max(texts, key=lambda index: fitted_widths[index])
        if fitted_widths[widest] <= max(_NARROWEST, words[widest]):
            break
        fitted_widths[widest] -= 1
    return fitted_widths


def fold(text: str, width: int) -> list[str]:
    """A text in lines of at most `width`: broken after a separator or a blank, inside a word only where it has none."""
    lines = [""]
    for piece in filter(None, _PIECES.findall(text)):
        if len(lines[-1]) + len(piece.rstrip()) <= width:
            lines[-1] += piece
            continue
        remainder = piece
        if lines[-1]:
            lines.append("")
        while len(remainder.rstrip()) > width:
            lines[-1] = remainder[:width]
            remainder = remainder[width:]
            lines.append("")
        lines[-1] = remainder
    return [line.rstrip() for line in lines]
