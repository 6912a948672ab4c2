"""A setting: where commands take it from, what a change affects, and its parser."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from shared.settings.kinds import Number


class SettingSource(StrEnum):
    """The source from which a command takes a setting, with the reason."""

    RECORD = "the functions' record: it decides what is published, or what is kept"
    SHELL = "its own environment: where things are, how to sign in, how fast and how often, what is reported"
    NONE = "nowhere: only the receiver reads it, before it stores an event"


class Effect(StrEnum):
    """What a changed value affects after the functions have restarted with it."""

    WORK = "all further work"
    EVENTS = "events received from then on"
    RUNS = "runs processed from then on; earlier ones by `throughline replay`"
    PROCESSES = "processes published from then on; existing ones by `throughline replay`"
    CREATED = "assets and processes created from then on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting: its name in the environment, its default (None: it is required), and what it is for.

    `source` has no default, so that every new setting has to be classified. `of_receiver`: whether the receiver parses
    it; a wrong value of any other setting must not keep it from accepting events. `forgiven`: the receiver uses the
    default where the value is wrong, and the parser reports it.
    """

    name: str
    meaning: str
    source: SettingSource
    default: str | None = ""
    parse: Callable[[str], Any] = str
    effect: Effect = Effect.WORK
    of_receiver: bool = False
    forgiven: bool = False

    @property
    def bounds(self) -> str:
        """Unit, floor and ceiling of a number, for people."""
        return self.parse.bounds if isinstance(self.parse, Number) else ""
