"""The nearest known name for one that does not exist."""

import difflib
from collections.abc import Iterable

from shared.texts.visible import visible

_MOST = 3
_LIKENESS = 0.6
"""How alike two names must be, from 0 to 1, to be suggested."""


def nearest(text: str, known: Iterable[str]) -> tuple[str, ...]:
    """Known names like this one, the most alike first: as a whole, or by their last parts."""
    names = sorted(set(known))
    wanted = text.lower()
    likeness = {name: max(_ratio(wanted, each) for each in _spellings(name)) for name in names}
    found = sorted((name for name in names if likeness[name] >= _LIKENESS), key=lambda name: -likeness[name])
    return tuple(found[:_MOST])


def suggestion(text: str, known: Iterable[str]) -> str:
    """A sentence to end an error with, from its blank on; empty where nothing is like this."""
    found = nearest(text, known)
    distinct = [name for place, name in enumerate(found) if not any(_same(name, other) for other in found[:place])]
    return f" Did you mean {' or '.join(map(visible, distinct))}?" if found else ""


def _same(one: str, other: str) -> bool:
    """Whether one is the end of the other: a path, and a qualified name that ends in it."""
    return any(whole.endswith(f"/{end.lstrip('/')}") for whole, end in ((one, other), (other, one)))


def _spellings(name: str) -> tuple[str, ...]:
    lower = name.lower().rstrip("/")
    parts = lower.split("/")
    return (lower, *("/".join(parts[-count:]) for count in (1, 2, 3)), lower.rpartition(".")[2])


def _ratio(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()
