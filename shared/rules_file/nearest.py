"""The nearest known name for a misspelled one."""

from collections.abc import Iterable
from difflib import get_close_matches

_LIKENESS = 0.5
"""How alike two names must be, from 0 to 1, to be suggested."""


def nearest(words: Iterable[str], known: Iterable[str]) -> str:
    """The known name that is most like the first of these words that is like any; empty if none is. Case and the
    wildcards at the ends of a pattern do not count.
    """
    names = {each.lower(): each for each in known}
    for word in words:
        if found := get_close_matches(word.strip("*/").lower(), sorted(names), n=1, cutoff=_LIKENESS):
            return names[found[0]]
    return ""


def did_you_mean(words: Iterable[str], known: Iterable[str]) -> str:
    """A question about the nearest known name, to end a sentence with; empty if none is like these words."""
    found = nearest(words, known)
    return f" Did you mean {found}?" if found else ""
