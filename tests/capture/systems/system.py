"""The facts of a started system for its scenario."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


class SystemsError(Exception):
    """A system could not be installed or started; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """How a job uses a running system, and the system's stable names in its events.

    `configuration` are Spark properties, `environment` variables, `arguments` further arguments of the script.
    `stable_names` maps this machine's facts to their replacements in the events, `versions` goes into versions.json.
    `python` is the interpreter that runs the script, if it is not Spark's.
    """

    configuration: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    stable_names: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    python: Path | None = None
