"""Rules of the watch: the channels of a message, when it may be sent, and the file of rules.

The file is TOML: parsed, or refused with every mistake in it.

    foreign_lineage = false          # what the catalog has from other programs does not count; true by default

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
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta, tzinfo
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

from shared.lineage.document import LineageDocument
from shared.rules_file import (
    FOREIGN_LINEAGE,
    TEXT,
    YES_OR_NO,
    Key,
    Remark,
    RulesEntry,
    RulesReader,
    ValueKind,
    did_you_mean,
    list_of,
    matcher,
    one_of,
)
from shared.watching.comparing.changes import Severity, Topic
from shared.watching.messages import Message


class ChannelKind(StrEnum):
    """The kind of a channel: a webhook, by the form of its body, or a channel of our own."""

    WEBHOOK = "webhook"
    SLACK = "slack"
    TEAMS = "teams"
    TELEMETRY = "telemetry"
    FILE = "file"

    @property
    def is_webhook(self) -> bool:
        """Whether it is called over HTTP."""
        return self in {ChannelKind.WEBHOOK, ChannelKind.SLACK, ChannelKind.TEAMS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """A channel. `path`: of the file, for the kind file. The addresses of webhooks are settings, because they are
    secret.
    """

    name: str
    kind: ChannelKind
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingRule:
    """Routes the messages that match all of its keys to its channels. A key that is empty matches every message.

    `subjects` are patterns of the subject's name or qualified name, `downstream` of a data set or process downstream,
    `owners` of an owner. `line`: of the rule in its file.
    """

    topics: frozenset[Topic] = frozenset()
    at_least: Severity = Severity.HARMLESS
    subjects: tuple[str, ...] = ()
    downstream: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    to: tuple[str, ...] = ()
    line: int = field(default=0, compare=False)

    @property
    def matches_all(self) -> bool:
        """Whether the rule matches every message."""
        named = self.topics or self.subjects or self.downstream or self.owners
        return not named and self.at_least is Severity.HARMLESS

    def matches(self, message: Message) -> bool:
        """Whether the rule matches a message."""
        hit = message.hit
        return (
            (not self.topics or message.topic in self.topics)
            and message.severity.rank >= self.at_least.rank
            and _any(self.subjects, (message.subject.name, message.subject.qualified_name))
            and _any(
                self.downstream,
                (
                    *(name for dataset in hit.datasets for name in (dataset.name, dataset.qualified_name)),
                    *(name for process in hit.processes for name in (process.name, process.qualified_name)),
                ),
            )
            and _any(self.owners, message.owners)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Quiet:
    """Hours of each day, in a time zone, in which messages wait. Messages of the severity `unless` or worse do not
    wait.
    """

    begins: time
    ends: time
    zone: tzinfo
    unless: Severity | None = None

    def until(self, now: datetime, severity: Severity) -> datetime | None:
        """When a message may be sent; None: now. `now` has a time zone."""
        if self.unless and severity.rank >= self.unless.rank:
            return None
        local_time = now.astimezone(self.zone)
        for days in (0, -1):  # the quiet hours that began today, or yesterday
            begin = datetime.combine(local_time.date() + timedelta(days=days), self.begins, self.zone)
            over_midnight = self.ends <= self.begins
            end = datetime.combine(begin.date() + timedelta(days=over_midnight), self.ends, self.zone)
            if begin <= local_time < end:
                return end.astimezone(now.tzinfo)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRules:
    """The channels, the rules in their order, and the quiet hours. `foreign_lineage`: whether what the catalog has from
    other programs counts.
    """

    channels: tuple[Channel, ...] = ()
    rules: tuple[RoutingRule, ...] = ()
    quiet: Quiet | None = None
    foreign_lineage: bool = True

    def channels_for(self, message: Message) -> tuple[str, ...]:
        """The channels of the first rule that matches. Empty if no rule matches, or the rule has no channels."""
        return next((rule.to for rule in self.rules if rule.matches(message)), ())

    def quiet_until(self, now: datetime, severity: Severity) -> datetime | None:
        """When a message may be sent; None: now."""
        return self.quiet.until(now, severity) if self.quiet else None


def _any(patterns: tuple[str, ...], names: Iterable[str]) -> bool:
    """Whether a name matches a pattern; True without patterns."""
    return not patterns or any(map(matcher(patterns), names))


def unmatched(rules: WatchRules, document: LineageDocument, policies: Collection[str] = ()) -> tuple[Remark, ...]:
    """The rules without an effect on this lineage, in the file's order. Empty if there is no lineage yet.

    `policies`: the names of the watched policies, which can be subjects too.
    """
    if not document.datasets:
        return ()
    return tuple(_found(rules, document, policies))


def _found(rules: WatchRules, document: LineageDocument, policies: Collection[str]) -> Iterator[Remark]:
    nodes = {name for dataset in document.datasets for name in (dataset.name, dataset.qualified_name)}
    nodes |= {name for process in document.processes for name in (process.name, process.qualified_name)}
    owners = {owner for dataset in document.datasets for owner in dataset.owner.split(", ") if owner}
    names = {"subjects": nodes | set(policies), "downstream": nodes, "owners": owners}
    all_of_them: RoutingRule | None = None
    for rule in rules.rules:
        if all_of_them:
            text = f"the rule in line {all_of_them.line} matches every message, so none comes to this one"
            yield Remark(line=rule.line, text=text)
            continue
        if rule.matches_all:
            all_of_them = rule
        for key, candidates in names.items():
            patterns = getattr(rule, key)
            if patterns and not any(map(matcher(patterns), candidates)):
                text = f"{key} {', '.join(patterns)} match nothing in the lineage.{did_you_mean(patterns, candidates)}"
                yield Remark(line=rule.line, text=text.removesuffix("."))


MAX_CHANNELS = 50
MAX_RULES = 500
_CLOCK = re.compile(r"[0-9]{2}:[0-9]{2}")


def _zone(name: Any) -> tzinfo:
    return UTC if name == "UTC" else ZoneInfo(name)  # which needs a table of zones on the machine


_TIME_OF_DAY = ValueKind(
    words='a time of day such as "07:30"',
    read=lambda text: time.fromisoformat(text) if _CLOCK.fullmatch(text) else None,
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
    reader.only({"quiet", "channels", "rules", FOREIGN_LINEAGE})
    channels = reader.receivers(_CHANNEL_KEYS, "channel", limit=MAX_CHANNELS)
    rules = reader.routes(_RULE_KEYS, "channel", channels, limit=MAX_RULES)
    quiet = reader.table(_QUIET_KEYS, "quiet").values
    foreign_lineage = reader.value(YES_OR_NO, FOREIGN_LINEAGE)
    for entry in channels.values():
        _check_path(entry, reader)
    if quiet.get("from") and quiet["from"] == quiet.get("to"):
        reader.wrong("from and to are the same time: all day would be quiet", "quiet", "to")
    reader.finish()
    return WatchRules(
        channels=tuple(Channel(name=name, **entry.values) for name, entry in channels.items()),
        rules=tuple(_rule(entry) for entry in rules),
        quiet=_quiet(quiet) if quiet else None,
        foreign_lineage=foreign_lineage is not False,
    )


def _check_path(entry: RulesEntry, reader: RulesReader) -> None:
    kind = entry.values.get("kind")
    if kind is ChannelKind.FILE and "path" not in entry.values:
        reader.wrong("a channel of the kind file needs its path", *entry.at)
    elif kind not in {ChannelKind.FILE, None} and "path" in entry.values:
        reader.wrong(f"path is for the kind file, not for {kind}", *entry.at, "path")


def _rule(entry: RulesEntry) -> RoutingRule:
    values = dict(entry.values)
    topics, channels = frozenset(values.pop("topics", ())), tuple(dict.fromkeys(values.pop("to")))
    return RoutingRule(**values, topics=topics, to=channels, line=entry.line)


def _quiet(values: Mapping[str, Any]) -> Quiet:
    return Quiet(
        begins=values["from"], ends=values["to"], zone=values.get("timezone", UTC), unless=values.get("unless")
    )
