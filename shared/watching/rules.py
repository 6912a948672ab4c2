"""Rules: which message goes to which channel, and when it may be sent."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta, tzinfo
from enum import StrEnum

from shared.rules_file.patterns import matcher
from shared.watching.comparing.changes import Severity, Topic
from shared.watching.messages import Message


class ChannelKind(StrEnum):
    """What a channel is: a webhook by the form of its body, or one of our own."""

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
    """A channel by its name; `path`: of the file, where it is one. Addresses of webhooks are settings: they let in."""

    name: str
    kind: ChannelKind
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingRule:
    """Which messages go `to` these channels: those that match all of what it names; empty: whatever it is.

    Patterns have `*` and `?`, and ignore case. `subjects` match the name or qualified name of what the message is
    about, `downstream` those of a data set or process downstream, `owners` an owner. `line`: of the rule in its file.
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
        """Whether every message is one of this rule."""
        named = self.topics or self.subjects or self.downstream or self.owners
        return not named and self.at_least is Severity.HARMLESS

    def matches(self, message: Message) -> bool:
        """Whether a message is one of this rule."""
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
    """Hours of each day, in a time zone, at which messages wait; those `unless` and worse do not."""

    begins: time
    ends: time
    zone: tzinfo
    unless: Severity | None = None

    def until(self, now: datetime, severity: Severity) -> datetime | None:
        """When a message may be sent; None: now. `now` is aware."""
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
        """The channels of the first rule that matches; none where no rule does, or where it names none."""
        return next((rule.to for rule in self.rules if rule.matches(message)), ())

    def quiet_until(self, now: datetime, severity: Severity) -> datetime | None:
        """When a message may be sent; None: now."""
        return self.quiet.until(now, severity) if self.quiet else None


def _any(patterns: tuple[str, ...], names: Iterable[str]) -> bool:
    """Whether a name matches a pattern; True without patterns."""
    return not patterns or any(map(matcher(patterns), names))
