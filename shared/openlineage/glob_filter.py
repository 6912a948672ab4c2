"""What settings include and exclude: names by patterns with `*` and `?`. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import translate
from functools import cache

_WILDCARDS = re.compile(r"[*?]")


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobFilter:
    """Patterns of whole names: what is excluded is not wanted, and where anything is included, only that is.

    `*` stands for any characters, `?` for one; nothing else has a meaning. Capitals count unless `folded`.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    folded: bool = False

    def excludes(self, names: Iterable[str]) -> bool:
        """Whether one of the names of a thing is excluded."""
        return bool(self.exclude) and _any(self.exclude, names, folded=self.folded)

    def takes(self, names: Iterable[str]) -> bool:
        """Whether a thing with these names is wanted."""
        known = tuple(names)
        if self.excludes(known):
            return False
        return not self.include or _any(self.include, known, folded=self.folded)

    def may_accept_below(self, name: str) -> bool:
        """Whether something whose name begins with this one and a dot could be included."""
        starts = (_WILDCARDS.split(pattern, maxsplit=1)[0] for pattern in self.include)
        return not self.include or any(f"{name}.".startswith(each) or each.startswith(f"{name}.") for each in starts)


MATCH_ALL = GlobFilter()
"""Nothing is excluded."""


def _any(patterns: tuple[str, ...], names: Iterable[str], *, folded: bool) -> bool:
    pattern = _compiled(patterns, folded)
    return any(pattern.fullmatch(name) for name in names)


@cache
def _compiled(patterns: tuple[str, ...], folded: bool) -> re.Pattern[str]:
    """As fnmatch has it, which never tries one way twice; but `[` stands for itself, as in `[dbo].[orders]`."""
    text = "|".join(translate(pattern.replace("[", "[[]")) for pattern in patterns)
    return re.compile(text, re.IGNORECASE if folded else 0)
