"""Remove the facts of one machine from captured events, without parsing them.

The events stay text, so that their peculiarities are kept: the listener's order of keys, and a JSON key that it writes
twice in RDD events.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

ROOT = "/data/throughline"
_FACTS = re.compile(r'"(driverHost|userName|user)":"(?:[^"\\]|\\.)*"')
_STABLE = {"driverHost": "driver.example", "userName": "spark", "user": "spark"}


class LeakError(Exception):
    """A fact of this machine is still in the events; the message names it and its context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine's facts: `paths` maps its folders to stable names, `forbidden` texts must not be in the events."""

    paths: Mapping[str, str]
    forbidden: tuple[str, ...]


def scrub(text: str, machine: Machine) -> str:
    """Return the events with stable paths, host and user, run ids and times untouched.

    Paths are replaced everywhere, including the ends of job names; the longest first, so that a folder inside another
    keeps its own name. Raises LeakError when a forbidden text remains.
    """
    for path in sorted(machine.paths, key=len, reverse=True):
        stable = machine.paths[path]
        for spelling in (path, path.replace(".", "_")):  # job names contain no dots
            text = text.replace(spelling, stable)
        text = _scrub_folded(text, _folded(path), _folded(stable))
    text = _FACTS.sub(lambda fact: f'"{fact[1]}":"{_STABLE[fact[1]]}"', text)
    for forbidden in machine.forbidden:
        if match := re.search(rf"(?<!\w){re.escape(forbidden)}(?!\w)", text):
            context = text[max(0, match.start() - 60) : match.end() + 60]
            raise LeakError(f"{forbidden!r} is still in the events: …{context}…")
    return text


def _scrub_folded(text: str, path: str, stable: str) -> str:
    """Replace a path in the names of RDD jobs, where it is in snake case and may be truncated at the name's end."""
    text = text.replace(path, stable)
    for length in range(len(path) - 1, 0, -1):
        text = text.replace(f'_file_{path[:length]}"', f'_file_{stable}"')
    return text


def _folded(path: str) -> str:
    return re.sub(r"[^0-9a-z]+", "_", path.lower()).strip("_")
