"""The file of rules, TOML: parsed, or refused with every mistake in it, each with its line.

[quiet]                          # messages wait from … to …; breaking ones do not
from = "20:00"
to = "07:00"
timezone = "Europe/Berlin"
unless = "breaking"

[channels.data-team]             # its address: THROUGHLINE_WATCH_WEBHOOKS
kind = "slack"

[channels.mail]
kind = "telemetry"

[[rules]]                        # the first rule that matches decides
topics = ["schema", "mask"]
at_least = "risky"
subjects = ["*sales*"]
to = ["data-team", "mail"]
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, time, tzinfo
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from shared.watching.comparing.changes import Severity, Topic
from shared.watching.rules import Channel, ChannelKind, Quiet, RoutingRule, WatchRules

_KEYS = ("quiet", "channels", "rules")
_QUIET_KEYS = ("from", "to", "timezone", "unless")
_CHANNEL_KEYS = ("kind", "path")
_RULE_KEYS = ("topics", "at_least", "subjects", "downstream", "owners", "to")
_CHANNEL_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")
MAX_CHANNELS = 50
MAX_RULES = 500

Word = TypeVar("Word", bound=StrEnum)


class WrongRulesError(ValueError):
    """The file of rules has mistakes; the message lists all."""


def parse_rules(text: str, place: str) -> WatchRules:
    """The rules in a file's text; `place` is its path, for the message. Raises WrongRulesError."""
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise WrongRulesError(f"{place} is not valid TOML: {error}. Correct that place first") from error
    reader = _Reader(text)
    rules = reader.rules(document)
    if reader.mistakes:
        found = "\n".join(f"  - line {line}: {what}" for line, what in sorted(reader.mistakes))
        number = len(reader.mistakes)
        raise WrongRulesError(f"{place} has {number} mistake{'s' if number > 1 else ''}:\n{found}")
    return rules


class _Reader:
    """Reads the document and collects its mistakes, each with its line."""

    def __init__(self, text: str) -> None:
        self.mistakes: list[tuple[int, str]] = []
        self._lines = text.splitlines()

    def rules(self, document: Mapping[str, Any]) -> WatchRules:
        self._unknown(document, _KEYS, "", 1)
        channels = tuple(self._channels(document.get("channels", {})))
        names = tuple(each.name for each in channels)
        return WatchRules(
            channels=channels,
            rules=tuple(self._rules(document.get("rules", []), names)),
            quiet=self._quiet(document["quiet"]) if "quiet" in document else None,
        )

    def _line(self, header: str, key: str = "", number: int = 1) -> int:
        """The line of a key below the header that comes `number`th; of the header itself where the key is not found."""
        begin, left = 1, number
        header = "".join(header.split())
        for at, line in enumerate(self._lines, start=1):
            text = "".join(line.split("#")[0].split()).replace('"', "")
            if header and text.startswith("["):
                if left == 0:
                    break
                if text.strip("[]") == header:
                    left -= 1
                    begin = at
            elif key and (left == 0 or not header) and text.startswith(f"{key}="):
                return at
        return begin

    def _top_line(self, key: str) -> int:
        """The line on which a key at the top of the file first stands, as a table or with a value."""
        form = re.compile(rf"\s*(\[+\s*)?[\"']?{re.escape(key)}[\"']?\s*[.=\]]")
        return next((at for at, line in enumerate(self._lines, start=1) if form.match(line)), 1)

    def _wrong(self, line: int, what: str) -> None:
        self.mistakes.append((line, what))

    def _unknown(self, table: Mapping[str, Any], known: Iterable[str], header: str, number: int) -> None:
        for key in table.keys() - set(known):
            line = self._line(header, key, number) if header else self._top_line(key)
            self._wrong(line, f"unknown key {key!r}{_nearest(key, known)}")

    def _channels(self, found: Any) -> Iterator[Channel]:
        if not isinstance(found, dict) or len(found) > MAX_CHANNELS:
            self._wrong(self._line("", "channels"), f"channels must be tables, [channels.NAME]; at most {MAX_CHANNELS}")
            return
        for name, table in found.items():
            header = f"channels.{name}"
            line = self._line(header)
            if not _CHANNEL_NAME.fullmatch(name):
                self._wrong(line, f"{name!r} is no name of a channel: use letters, digits, _ and -, 40 at most")
            if not isinstance(table, dict):
                self._wrong(self._line("channels", name), f"{name} must be a table: write [channels.{name}]")
                continue
            self._unknown(table, _CHANNEL_KEYS, header, 1)
            kind = self._word(ChannelKind, table.get("kind"), self._line(header, "kind"), "kind")
            path = table.get("path", "")
            if kind is ChannelKind.FILE and not (isinstance(path, str) and path):
                self._wrong(line, "a channel of the kind file needs its path")
            elif kind is not ChannelKind.FILE and path:
                self._wrong(self._line(header, "path"), f"path is for the kind file, not for {kind}")
            yield Channel(name=name, kind=kind or ChannelKind.FILE, path=str(path))

    def _rules(self, found: Any, channels: tuple[str, ...]) -> Iterator[RoutingRule]:
        if not isinstance(found, list) or len(found) > MAX_RULES or not all(isinstance(each, dict) for each in found):
            self._wrong(self._line("", "rules"), f"rules must be tables, [[rules]]; at most {MAX_RULES}")
            return
        for number, table in enumerate(found, start=1):
            self._unknown(table, _RULE_KEYS, "rules", number)

            def line(key: str, number: int = number) -> int:
                return self._line("rules", key, number)

            topics = [self._word(Topic, each, line("topics"), "topic") for each in self._texts(table, "topics", line)]
            to = self._texts(table, "to", line)
            if "to" not in table:
                self._wrong(line(""), "a rule needs to = […]: the channels, or [] for messages that go nowhere")
            for name in to:
                if name not in channels:
                    self._wrong(line("to"), f"there is no channel {name!r}{_nearest(name, channels)}")
            severity = table.get("at_least", str(Severity.HARMLESS))
            yield RoutingRule(
                topics=frozenset(each for each in topics if each),
                at_least=self._word(Severity, severity, line("at_least"), "at_least") or Severity.HARMLESS,
                subjects=self._texts(table, "subjects", line),
                downstream=self._texts(table, "downstream", line),
                owners=self._texts(table, "owners", line),
                to=tuple(dict.fromkeys(to)),
                line=line(""),
            )

    def _texts(self, table: Mapping[str, Any], key: str, line: Callable[[str], int]) -> tuple[str, ...]:
        found = table.get(key, [])
        if not isinstance(found, list) or not all(isinstance(each, str) and each for each in found):
            self._wrong(line(key), f"{key} must be a list of texts")
            return ()
        return tuple(found)

    def _word(self, words: type[Word], found: Any, line: int, what: str) -> Word | None:
        try:
            return words(found)
        except ValueError:
            known = [str(each) for each in words]
            self._wrong(line, f"{what} is {found!r}: use {', '.join(known)}{_nearest(str(found), known)}")
            return None

    def _quiet(self, found: Any) -> Quiet | None:
        if not isinstance(found, dict):
            self._wrong(self._line("", "quiet"), "quiet must be a table: write [quiet]")
            return None
        self._unknown(found, _QUIET_KEYS, "quiet", 1)
        begins, ends = (self._clock(found, key) for key in ("from", "to"))
        unless = found.get("unless")
        severity = self._word(Severity, unless, self._line("quiet", "unless"), "unless") if unless else None
        zone = self._zone(found.get("timezone", "UTC"))
        if begins is not None and begins == ends:
            self._wrong(self._line("quiet", "to"), "from and to are the same time: all day would be quiet")
        if begins is None or ends is None or zone is None:
            return None
        return Quiet(begins=begins, ends=ends, zone=zone, unless=severity)

    def _clock(self, table: Mapping[str, Any], key: str) -> time | None:
        found = table.get(key)
        parts = _CLOCK.fullmatch(found) if isinstance(found, str) else None
        if parts is None:
            self._wrong(self._line("quiet", key), f'{key} must be a time of day, as "07:30"')
            return None
        return time(int(parts[1]), int(parts[2]))

    def _zone(self, name: Any) -> tzinfo | None:
        try:
            return UTC if name == "UTC" else ZoneInfo(name)  # which needs a table of zones on the machine
        except (KeyError, ValueError, TypeError, OSError):
            self._wrong(self._line("quiet", "timezone"), f"there is no time zone {name!r}: use one as Europe/Berlin")
            return None


def _nearest(word: str, known: Iterable[str]) -> str:
    near = get_close_matches(word, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
