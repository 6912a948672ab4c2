"""What a scenario gets from a system that was started for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


class SystemsError(Exception):
    """A system that could not be had or did not start; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """What a job needs to use a running system, and what may not remain in its events.

    `configuration` are Spark properties, `environment` variables, `arguments` further arguments of the script.
    `words` maps what is of this machine to what stands for it in the events, `versions` goes into versions.json.
    `python` is the interpreter that runs the script where that is not Spark's.
    """

    configuration: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    python: Path | None = None
