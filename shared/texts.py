"""Texts for people: control characters made visible, and the nearest of the words that are known.

Imports nothing of ours.
"""

import difflib
from collections.abc import Iterable
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


_LENGTH = 3
_LIKENESS = 0.6
"""How alike two names must be, from 0 to 1, to be suggested."""


def nearest(text: str, names: Iterable[str]) -> tuple[str, ...]:
    """Known names like this one, the most alike first: as a whole, or by their last parts."""
    folded_text = text.lower()
    likeness = {name: max(_ratio(folded_text, spelling) for spelling in _spellings(name)) for name in names}
    alike = sorted((name for name in likeness if likeness[name] >= _LIKENESS), key=lambda name: (-likeness[name], name))
    return tuple(alike[:_LENGTH])


def suggestion(text: str, names: Iterable[str]) -> str:
    """A sentence to end an error with, from its blank on; empty where nothing is like this."""
    nearest_names = nearest(text, names)
    distinct = [name for place, name in enumerate(nearest_names) if not _repeats(name, nearest_names[:place])]
    return f" Did you mean {' or '.join(map(visible, distinct))}?" if distinct else ""


def _repeats(name: str, names: Iterable[str]) -> bool:
    """Whether one ends in the other, with one of these: a path, and a qualified name that ends in it."""
    ends = ((text, end) for other in names for text, end in ((name, other), (other, name)))
    return any(text.endswith(f"/{end.lstrip('/')}") for text, end in ends)


def _spellings(name: str) -> tuple[str, ...]:
    lower = name.lower().rstrip("/")
    parts = lower.split("/")
    return (lower, *("/".join(parts[-count:]) for count in (1, 2, 3)), lower.rpartition(".")[2])


def _ratio(name: str, other: str) -> float:
    return difflib.SequenceMatcher(None, name, other).ratio()
