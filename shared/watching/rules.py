"""Rules of the watch: the channels of a message, and when it may be sent."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta, tzinfo
from enum import StrEnum

from shared.rules_file.patterns import matcher
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
        here = now.astimezone(self.zone)
        for days in (0, -1):  # the quiet hours that began today, or yesterday
            begin = datetime.combine(here.date() + timedelta(days=days), self.begins, self.zone)
            over_midnight = self.ends <= self.begins
            end = datetime.combine(begin.date() + timedelta(days=over_midnight), self.ends, self.zone)
            if begin <= here < end:
                return end.astimezone(now.tzinfo)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRules:
    """The channels, the rules in their order, and the quiet hours."""

    channels: tuple[Channel, ...] = ()
    rules: tuple[RoutingRule, ...] = ()
    quiet: Quiet | None = None

    def channels_for(self, message: Message) -> tuple[str, ...]:
        """The channels of the first rule that matches. Empty if no rule matches, or the rule has no channels."""
        return next((rule.to for rule in self.rules if rule.matches(message)), ())

    def quiet_until(self, now: datetime, severity: Severity) -> datetime | None:
        """When a message may be sent; None: now."""
        return self.quiet.until(now, severity) if self.quiet else None


def _any(patterns: tuple[str, ...], names: Iterable[str]) -> bool:
    """Whether a name matches a pattern; True without patterns."""
    return not patterns or any(map(matcher(patterns), names))
