"""Include and exclude names by glob patterns, as the settings give them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import translate
from functools import cache

_WILDCARDS = re.compile(r"[*?]")


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobFilter:
    """Patterns of whole names. Excluded names are rejected, and if `include` is not empty, all that match none of it.

    `*` stands for any characters, `?` for one; nothing else is special. Case counts unless `ignore_case`.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    ignore_case: bool = False

    def excludes(self, names: Iterable[str]) -> bool:
        """Whether one of a thing's names is excluded."""
        return bool(self.exclude) and _any(self.exclude, names, ignore_case=self.ignore_case)

    def accepts(self, names: Iterable[str]) -> bool:
        """Whether a thing with these names is accepted."""
        known = tuple(names)
        if self.excludes(known):
            return False
        return not self.include or _any(self.include, known, ignore_case=self.ignore_case)

    def may_accept_below(self, name: str) -> bool:
        """Whether a name that begins with this one and a dot could be accepted."""
        starts = (_WILDCARDS.split(pattern, maxsplit=1)[0] for pattern in self.include)
        return not self.include or any(f"{name}.".startswith(each) or each.startswith(f"{name}.") for each in starts)


MATCH_ALL = GlobFilter()
"""Accepts every name."""


def _any(patterns: tuple[str, ...], names: Iterable[str], *, ignore_case: bool) -> bool:
    pattern = _compiled(patterns, ignore_case)
    return any(pattern.fullmatch(name) for name in names)


@cache
def _compiled(patterns: tuple[str, ...], ignore_case: bool) -> re.Pattern[str]:
    """Patterns of fnmatch, which do not backtrack twice; but `[` stands for itself, as in `[dbo].[orders]`."""
    text = "|".join(translate(pattern.replace("[", "[[]")) for pattern in patterns)
    return re.compile(text, re.IGNORECASE if ignore_case else 0)
