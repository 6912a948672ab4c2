"""Every rule of `throughline doctor`: a symptom, what it means, and the command that mends it; read from `rules.toml`.

docs/reference/cli-findings.md shows them (`tests/pages.py`).
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorRule:
    """`code` is stable: scripts may rely on it.

    `symptom` and `means` are texts for people. `command` is one line for a shell: names in braces, as in `{group}`, are
    filled by the check that found the symptom. In the file, `$name` stands for one of `[commands]`.
    """

    code: str
    symptom: str
    means: str
    command: str

    @property
    def shown(self) -> str:
        """The command as a page shows it: with capitals for what a check fills in."""
        named = re.sub(r"(?<!\{)\{(\w+)\}(?!\})", lambda match: match[1].upper(), self.command)
        return named.replace("{{", "{").replace("}}", "}")


def _read(text: str) -> Mapping[str, tuple[DoctorRule, ...]]:
    """The rules of a file by section, in its order."""
    sections = tomllib.loads(text)
    commands = sections.pop("commands")

    def rule(code: str, fields: Mapping[str, str]) -> DoctorRule:
        command = Template(fields["command"]).safe_substitute(commands)
        return DoctorRule(code=code, symptom=fields["symptom"], means=fields["means"], command=command)

    return {title: tuple(rule(*values) for values in rules.items()) for title, rules in sections.items()}


SECTIONS = _read(Path(__file__).with_name("rules.toml").read_text(encoding="utf-8"))
"""The rules by subject, in the order in which the checks run."""

BY_CODE = {rule.code: rule for rules in SECTIONS.values() for rule in rules}
