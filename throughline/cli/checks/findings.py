"""Findings: the results of checks, with the rule behind each that is not good."""

import re
import shlex
import tomllib
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from string import Template
from typing import TypeVar

Places = Mapping[str, str | tuple[str, ...]]
"""Values for the names in a command: one word each, or several."""

UNKNOWN: Places = {
    "group": "GROUP",
    "deployment": "DEPLOYMENT",
    "storage": "STORAGE",
    "address": ("--set", "alertEmail=YOU@EXAMPLE.COM"),
    "scope": "STORAGE_ID",
    "role": "Storage Blob Data Reader",
    "receiver": "RECEIVER",
    "account": "PURVIEW",
    "collection": "COLLECTION",
    "principal": "OBJECT_ID",
    "tenant": "TENANT",
    "url": "URL",
}
"""Words in capitals for values that are not known, as in docs/operate/deploy.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorRule:
    """A rule of `throughline doctor`, read from `rules.toml`; docs/reference/cli-findings.md shows them.

    `code` is stable: scripts may rely on it. `symptom` and `means` are texts for people. `command` is one line for a
    shell: names in braces, as in `{group}`, are filled by the check that found the symptom. In the file, `$name` stands
    for one of `[commands]`.
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


class CheckState(StrEnum):
    """The state of a subject. `UNSEEN`: it could not be checked, so nothing is known of it."""

    GOOD = "good"
    BAD = "bad"
    UNSEEN = "unseen"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The result of one check: its `subject`, and what was `found`.

    Unless it is good: the `code` of its rule in `throughline.cli.checks.rules`, what the rule says that it `means`, and
    the `command` to type next.
    """

    subject: str
    state: CheckState
    found: str
    code: str = ""
    means: str = ""
    command: str = ""

    @property
    def good(self) -> bool:
        """Whether it is as it should be."""
        return self.state is CheckState.GOOD


T = TypeVar("T")


def collected(way: Generator[CheckResult, None, T]) -> tuple[list[CheckResult], T]:
    """All findings of a check, and the value that it returns at its end."""
    values: list[T] = []

    def whole() -> Iterator[CheckResult]:
        values.append((yield from way))

    return list(whole()), values[0]


def good(subject: str, text: str) -> CheckResult:
    """A subject that is as it should be."""
    return CheckResult(subject=subject, state=CheckState.GOOD, found=text)


def bad(code: str, subject: str, text: str, **places: str | tuple[str, ...]) -> CheckResult:
    """A bad subject, by the rule of this code; `places` fill the names in braces of the rule's command, else UNKNOWN.

    A `subscription` and an `environment` among the places are added to the commands that take them. Raises KeyError for
    a code without a rule, and for a name that is not filled.
    """
    return _by_rule(CheckState.BAD, code, subject, text, places)


def unseen(code: str, subject: str, text: str, **places: str | tuple[str, ...]) -> CheckResult:
    """The same for a subject that could not be checked."""
    return _by_rule(CheckState.UNSEEN, code, subject, text, places)


def _by_rule(state: CheckState, code: str, subject: str, text: str, places: Places) -> CheckResult:
    rule = BY_CODE[code]
    words = {name: (value,) if isinstance(value, str) else value for name, value in {**UNKNOWN, **places}.items()}
    command = rule.command.format(**{name: shlex.join(texts) for name, texts in words.items()}).rstrip()
    for option, (programs, other_programs) in _OPTIONS.items():
        value = places.get(option)
        takes = command.startswith(programs) and not command.startswith(other_programs) and f"--{option}" not in command
        if isinstance(value, str) and value and takes:
            command += f" --{option} {shlex.quote(value)}"
    return CheckResult(subject=subject, state=state, found=text, code=code, means=rule.means, command=command)


_OURS = ("python3 -m throughline.cli.deploy ", "throughline doctor --group ")
_OPTIONS = {"environment": (_OURS, ()), "subscription": (("az ", *_OURS), ("az login", "az account", "az upgrade"))}
"""Options that are added to a command: the programs that take them, and those of their commands that do not."""
