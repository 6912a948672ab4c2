"""The settings that the functions put on record, so that commands publish by the same settings. Pure.

A record maps the name of a setting to its text, for each setting whose source is `SettingSource.RECORD`. It holds the
content of the file of names: the file's path means nothing on another machine.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shared.errors import Misconfigured
from shared.settings.kinds import TextFile
from shared.settings.setting import Setting, SettingSource
from shared.settings.table import NAMES, SETTINGS, SHADOW

RECORDED = {setting.name: setting for setting in SETTINGS if setting.source is SettingSource.RECORD}

_THEIR_NAMES = "of the functions"
_LONGEST_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A setting whose value differs between this environment and the functions."""

    name: str
    functions: str
    here: str

    def __str__(self) -> str:
        return f"{self.name}: the functions have {self.functions}, this shell has {self.here}"


def texts_to_record(environment: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, str]:
    """The texts that the functions put on record, given or default. `values` are the parsed ones."""
    found = {name: environment.get(name) or setting.default or "" for name, setting in RECORDED.items()}
    return {**found, NAMES: values[NAMES].text if values[NAMES] else ""}


def recorded_value(setting: Setting, record: Mapping[str, str]) -> Any:
    """The value of a setting on record. Raises ValueError if this version can't read it."""
    text = record[setting.name]
    if setting.name == NAMES:
        return TextFile(place=_THEIR_NAMES, text=text) if text else None
    return setting.parse(text)


def check_record(record: Mapping[str, str]) -> None:
    """Raise Misconfigured if another version wrote the record and this one can't work by it."""
    unreadable = sorted(record.keys() - RECORDED.keys())
    for name in sorted(record.keys() & RECORDED.keys()):
        try:
            recorded_value(RECORDED[name], record)
        except ValueError:
            unreadable.append(name)
    if unreadable:
        raise Misconfigured(
            f"The functions are of another version: this one can't work by their {', '.join(unreadable)}. Install the"
            " version that is deployed"
        )


def differences(record: Mapping[str, str], environment: Mapping[str, str]) -> tuple[Difference, ...]:
    """The recorded settings to which this environment gives another value, without shadow mode, which holds if either
    side has it. A setting that is not set, or can't be read, is no difference.
    """
    found = []
    for name, setting in RECORDED.items():
        here = environment.get(name)
        if not here or name == SHADOW or name not in record:
            continue
        try:
            ours = setting.parse(here)
        except (ValueError, OverflowError):
            continue  # `load` names it
        if name == NAMES:
            here, differs = ours.text, ours.text != record[name]
        else:
            differs = ours != recorded_value(setting, record)
        if differs:
            found.append(Difference(name=name, functions=_shown(name, record[name]), here=_shown(name, here)))
    return tuple(found)


def _shown(name: str, text: str) -> str:
    if not text:
        return "nothing"
    if name == NAMES:
        return f"a file of {len(text):,} characters (sha256 {hashlib.sha256(text.encode()).hexdigest()[:12]})"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
