"""Patterns of names: `*` stands for any characters, `?` for one; nothing else is special, and case does not count."""

import re
from collections.abc import Callable, Iterable
from fnmatch import translate


def matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Whether a text as a whole has one of these patterns; any text does where there are none."""
    given = tuple(patterns)
    if not given:
        return lambda _: True
    found = re.compile("|".join(translate(each.replace("[", "[[]")) for each in given), re.IGNORECASE)
    return lambda text: found.match(text) is not None
