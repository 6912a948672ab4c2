"""What a rule is: a pattern over one canonical data set, and how it is called in the catalog."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

_SAFE = "/:@!$&'()*+,;=-._~ {}[]%#?|<>^`\\\""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A data set's place in the catalog, and the rule that gave it."""

    type: str
    qualified_name: str
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`pattern` must match the whole of `namespace` + newline + `name`; `name_it` makes the qualified name of it."""

    name: str
    type: str
    pattern: re.Pattern[str]
    name_it: Callable[[re.Match[str]], str]

    def apply(self, subject: str) -> Named | None:
        """The catalog's name, or None when this rule is not for it."""
        found = self.pattern.fullmatch(subject)
        return Named(type=self.type, qualified_name=printable(self.name_it(found)), rule=self.name) if found else None


def rule(name: str, *, type: str, namespace: str, path: str, to: str) -> Rule:  # noqa: A002 - the field's word
    """A rule from two patterns with named groups and a template that uses them."""
    return Rule(
        name=name,
        type=type,
        pattern=re.compile(rf"{namespace}\n{path}", re.DOTALL),
        name_it=lambda found: to.format_map(found.groupdict()),
    )


def printable(qualified_name: str) -> str:
    """The name without control characters, which no catalog shows: they are percent-encoded, all else stays."""
    if qualified_name.isprintable():
        return qualified_name
    return "".join(c if c.isprintable() else quote(c, safe=_SAFE) for c in qualified_name)
