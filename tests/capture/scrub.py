"""Taking the facts of one machine out of captured events, without parsing them.

The events stay text, so that what is odd about them stays too: the listener writes one JSON key twice in RDD
events, and its own order of keys.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

ROOT = "/data/throughline"
_FACTS = re.compile(r'"(driverHost|userName|user)":"(?:[^"\\]|\\.)*"')
_STABLE = {"driverHost": "driver.example", "userName": "spark", "user": "spark"}


class LeakError(Exception):
    """A fact of this machine is still in the events; the message says which, and where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What must not be kept: `paths` maps folders of this machine to their stable names, `words` may not remain."""

    paths: Mapping[str, str]
    words: tuple[str, ...]


def scrub(text: str, machine: Machine) -> str:
    """Return the events with stable paths, host and user, run ids and times untouched.

    Paths are replaced wherever they stand, the ends of job names included; the longest first, so that a folder inside
    another keeps its own name. Raises LeakError when a word that may not remain is still there.
    """
    for path in sorted(machine.paths, key=len, reverse=True):
        stable = machine.paths[path]
        for spelling in (path, path.replace(".", "_")):  # job names hold no dots of their own
            text = text.replace(spelling, stable)
        text = _scrub_folded(text, _folded(path), _folded(stable))
    text = _FACTS.sub(lambda fact: f'"{fact[1]}":"{_STABLE[fact[1]]}"', text)
    for word in machine.words:
        if left := re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text):
            context = text[max(0, left.start() - 60) : left.end() + 60]
            raise LeakError(f"{word!r} is still in the events: …{context}…")
    return text


def _scrub_folded(text: str, path: str, stable: str) -> str:
    """Replace a path in the names of RDD jobs: there it is in snake case, and may be cut off at the name's end."""
    text = text.replace(path, stable)
    for length in range(len(path) - 1, 0, -1):
        text = text.replace(f'_file_{path[:length]}"', f'_file_{stable}"')
    return text


def _folded(path: str) -> str:
    return re.sub(r"[^0-9a-z]+", "_", path.lower()).strip("_")
