"""The file of rules, TOML: parsed, or refused with every mistake in it.

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
from collections.abc import Mapping
from datetime import UTC, time, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from shared.rules_file.keys import TEXT, Key, ValueKind, list_of, one_of
from shared.rules_file.nearest import did_you_mean
from shared.rules_file.reading import RulesEntry, RulesReader
from shared.watching.comparing.changes import Severity, Topic
from shared.watching.rules import Channel, ChannelKind, Quiet, RoutingRule, WatchRules

MAX_CHANNELS = 50
MAX_RULES = 500
_CHANNEL_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
_CLOCK = re.compile(r"[0-9]{2}:[0-9]{2}")


def _zone(name: Any) -> tzinfo:
    return UTC if name == "UTC" else ZoneInfo(name)  # which needs a table of zones on the machine


_TIME_OF_DAY = ValueKind(
    words='a time of day such as "07:30"',
    read=lambda given: time.fromisoformat(given) if _CLOCK.fullmatch(given) else None,
)
_ZONE = ValueKind(words="a time zone such as Europe/Berlin", read=_zone)
_SEVERITY, _TOPIC, _CHANNEL_KIND = one_of(Severity), one_of(Topic), one_of(ChannelKind)
_TOPICS = list_of(_TOPIC, f"a list of {_TOPIC.words}")
_PATTERNS = list_of(TEXT, "a list of texts")

_QUIET_KEYS = {
    "from": Key(kind=_TIME_OF_DAY, meaning="when messages begin to wait", needed=True),
    "to": Key(kind=_TIME_OF_DAY, meaning="when they are sent", needed=True),
    "timezone": Key(kind=_ZONE, meaning="the time zone of both"),
    "unless": Key(kind=_SEVERITY, meaning="the least severity that does not wait"),
}
_CHANNEL_KEYS = {
    "kind": Key(kind=_CHANNEL_KIND, meaning=_CHANNEL_KIND.words, needed=True),
    "path": Key(kind=TEXT, meaning="the path of the file, for the kind file"),
}
_RULE_KEYS = {
    "topics": Key(kind=_TOPICS, meaning="the topics of the messages"),
    "at_least": Key(kind=_SEVERITY, meaning="their least severity"),
    "subjects": Key(kind=_PATTERNS, meaning="patterns of what they are about"),
    "downstream": Key(kind=_PATTERNS, meaning="patterns of a data set or process downstream"),
    "owners": Key(kind=_PATTERNS, meaning="patterns of an owner"),
    "to": Key(kind=_PATTERNS, meaning="a list of channels, [] for messages that go nowhere", needed=True),
}


def parse_watch_rules(text: str, place: str) -> WatchRules:
    """The rules in a file's text; `place` is its path, for messages. Raises Misconfigured with all its mistakes."""
    reader = RulesReader(text, place)
    reader.only({"quiet", "channels", "rules"})
    channels = reader.named(_CHANNEL_KEYS, "channels", most=MAX_CHANNELS)
    rules = reader.entries(_RULE_KEYS, "rules", most=MAX_RULES)
    quiet = reader.table(_QUIET_KEYS, "quiet").values
    for name, entry in channels.items():
        _check_channel(name, entry, reader)
    for entry in rules:
        for name in entry.values.get("to") or ():
            if name not in channels:
                reader.wrong(f"there is no channel {name}.{did_you_mean([name], channels)}", *entry.at, "to")
    if quiet.get("from") and quiet["from"] == quiet.get("to"):
        reader.wrong("from and to are the same time: all day would be quiet", "quiet", "to")
    reader.finish()
    return WatchRules(
        channels=tuple(Channel(name=name, **entry.values) for name, entry in channels.items()),
        rules=tuple(_rule(entry) for entry in rules),
        quiet=_quiet(quiet) if quiet else None,
    )


def _check_channel(name: str, entry: RulesEntry, reader: RulesReader) -> None:
    if not _CHANNEL_NAME.fullmatch(name):
        reader.wrong(f"{name!r} is no name of a channel: use letters, digits, _ and -, at most 40", *entry.at)
    kind = entry.values.get("kind")
    if kind is ChannelKind.FILE and "path" not in entry.values:
        reader.wrong("a channel of the kind file needs its path", *entry.at)
    elif kind not in {ChannelKind.FILE, None} and "path" in entry.values:
        reader.wrong(f"path is for the kind file, not for {kind}", *entry.at, "path")


def _rule(entry: RulesEntry) -> RoutingRule:
    values = dict(entry.values)
    topics, to = frozenset(values.pop("topics", ())), tuple(dict.fromkeys(values.pop("to")))
    return RoutingRule(**values, topics=topics, to=to, line=entry.line)


def _quiet(values: Mapping[str, Any]) -> Quiet:
    return Quiet(
        begins=values["from"], ends=values["to"], zone=values.get("timezone", UTC), unless=values.get("unless")
    )
