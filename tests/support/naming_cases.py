"""Helpers for tests of naming cases."""

from dataclasses import dataclass

from shared.naming.rules.identity import NO_ENVIRONMENT, RunEnvironment


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Spellings (namespace, name) of one data set, and what the catalog calls it."""

    rule: str
    type: str
    to: str
    spellings: tuple[tuple[str, str], ...]
    environment: RunEnvironment = NO_ENVIRONMENT
