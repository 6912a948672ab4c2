"""The needs of a scenario besides its script: `NAME.job.json`, described in tests/golden/README.md."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_KINDS = ("spark", "python")
# Properties whose values are joined, and their separators. Of all others the last value holds.
_JOINED = {"spark.driver.extraClassPath": ":", "spark.driver.extraJavaOptions": " ", "spark.jars.packages": ","}


class NeedsError(Exception):
    """A job.json with invalid content; the message names it and the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """Maven packages, Spark properties, a server or other engine, variables, and what runs it: `spark` or `python`."""

    packages: tuple[str, ...] = ()
    conf: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    system: str | None = None
    kind: str = "spark"

    @classmethod
    def beside(cls, script: Path) -> "Needs":
        """Read the needs of a script; none when there is no file. Raises NeedsError."""
        path = script.with_suffix(".job.json")
        if not path.exists():
            return cls()
        document: dict[str, Any] = json.loads(path.read_text())
        if unknown := document.keys() - set(cls.__dataclass_fields__):
            raise NeedsError(
                f"{path} has {', '.join(sorted(unknown))}: it may have {', '.join(cls.__dataclass_fields__)}"
            )
        needs = cls(**{**document, "packages": tuple(document.get("packages", ()))})
        if needs.kind not in _KINDS:
            raise NeedsError(f"{path} has the kind {needs.kind}: it may be {' or '.join(_KINDS)}")
        if needs.kind == "python" and needs.system is None:
            raise NeedsError(f"{path} names no system: a script of the kind python runs with the Python of one")
        return needs

    def filled_in(self, values: Mapping[str, str]) -> "Needs":
        """Return the needs with placeholders such as `{spark}` and `{data}` replaced; other braces stay."""

        def fill(text: str) -> str:
            for name, value in values.items():
                text = text.replace(f"{{{name}}}", value)
            return text

        return Needs(
            packages=tuple(map(fill, self.packages)),
            conf={name: fill(value) for name, value in self.conf.items()},
            environment={name: fill(value) for name, value in self.environment.items()},
            system=self.system,
            kind=self.kind,
        )


def merge_configurations(*configurations: Mapping[str, str]) -> dict[str, str]:
    """Merge Spark properties: the last value holds, but paths, options and packages are joined."""
    found: dict[str, str] = {}
    for configuration in configurations:
        for name, value in configuration.items():
            joint = _JOINED.get(name)
            found[name] = f"{found[name]}{joint}{value}" if joint and found.get(name) else value
    return found
