"""A remark about a rule that is no mistake."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A rule without an effect: its line in the file, and why."""

    line: int
    text: str
