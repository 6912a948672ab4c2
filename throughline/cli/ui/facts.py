"""Facts about one thing: a title at the left, its value beside it."""

from rich.text import Text

from shared.texts import visible
from throughline.cli.ui.console import out
from throughline.cli.ui.tables import fold

_TITLE_WIDTH = 14
_NARROWEST = 20


def print_fact(title: str, *values: str, style: str = "") -> None:
    """Print values below one another beside their title, at a terminal folded between words."""
    for value in values:
        room = max(out.width - _TITLE_WIDTH - 1, _NARROWEST)
        for line in fold(visible(value), room) if out.is_terminal else [visible(value)]:
            out.print(Text.assemble((f"{title:{_TITLE_WIDTH}} ", "bold"), (line, style)))
            title = ""
