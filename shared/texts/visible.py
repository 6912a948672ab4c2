"""Texts from outside, as people may see them: marks that act instead of being seen are shown as escapes.

A terminal obeys control characters (ESC starts a command); Unicode's marks of direction show a name in another order
than it has (U+202E: `exe.gnp` as `png.exe`), and other format characters are not seen at all. The joiners of scripts
and emoji (U+200C, U+200D) stay. `viewer/visible.js` is the twin for the page.
"""

from unicodedata import category

_ACTING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's general categories: control, format, surrogate, separators of lines and of paragraphs."""
_JOINERS = frozenset("\u200c\u200d")


def visible(value: object) -> str:
    r"""A value on one line, with `\x1b`, `\n`, `\u202e` … for marks that act."""
    text = str(value)
    return text if text.isprintable() else "".join(map(_shown, text))


def visible_lines(value: object) -> str:
    """A text of several lines: line ends stay, and all else is as in `visible`."""
    text = str(value)
    return text if text.isprintable() else "\n".join(map(visible, text.split("\n")))


def _shown(character: str) -> str:
    acts = category(character) in _ACTING and character not in _JOINERS
    return character.encode("unicode_escape").decode() if acts else character
