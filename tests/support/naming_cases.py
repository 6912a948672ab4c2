"""The form of cases for naming rules."""

from dataclasses import dataclass

from shared.naming.stores.families import NO_ENVIRONMENT, RunEnvironment


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Spellings (namespace, name) of one data set, and its type and name in the catalog."""

    rule: str
    type: str
    to: str
    spellings: tuple[tuple[str, str], ...]
    environment: RunEnvironment = NO_ENVIRONMENT
