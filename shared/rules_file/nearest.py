"""The nearest known name for a misspelled one."""

from collections.abc import Iterable

from shared.texts import suggestion


def nearest(words: Iterable[str], known: Iterable[str]) -> str:
    """The known name that is most like the first of these words that is like any; empty if none is. Wildcards at the
    ends of a pattern do not count.
    """
    names = tuple(known)
    return next((found[0] for word in words if (found := suggestion.nearest(word.strip("*/"), names))), "")


def did_you_mean(words: Iterable[str], known: Iterable[str]) -> str:
    """A question about the nearest known name, to end a sentence with; empty if none is like these words."""
    found = nearest(words, known)
    return f" Did you mean {found}?" if found else ""
