"""The file of rules: which message goes where and when, and every mistake in it at once."""

import json
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from shared.errors import Misconfigured
from shared.watching.comparing.changes import Severity, Topic
from shared.watching.messages import DatasetHit, Hit, Message, Subject
from shared.watching.rules import WatchRules, parse_watch_rules

FILE = """
[quiet]
from = "20:00"
to = "07:00"
timezone = "Europe/Berlin"
unless = "breaking"

[channels.team]
kind = "slack"
[channels.mail]
kind = "telemetry"
[channels.log]
kind = "file"
path = "messages.jsonl"

[[rules]]
subjects = ["*/scratch/*", "tmp_?"]
to = []
[[rules]]
topics = ["mask", "gate"]
to = ["team", "mail", "team"]
[[rules]]
at_least = "risky"
downstream = ["finance*"]
to = ["team"]
[[rules]]
owners = ["ada@*"]
to = ["mail"]
[[rules]]
to = ["log"]
"""
MESSAGE = Message(
    id="0",
    decided=datetime(2026, 11, 23, tzinfo=UTC),
    topic=Topic.SCHEMA,
    severity=Severity.HARMLESS,
    subject=Subject(type="t", qualified_name="abfss://lake/sales/orders", name="orders"),
    title="",
    changes=(),
    count=0,
    hit=Hit(),
)
FINANCE = Hit(datasets=(DatasetHit(type="t", qualified_name="abfss://lake/x", name="Finance_report"),))


@pytest.fixture(scope="module")
def rules() -> WatchRules:
    return parse_watch_rules(FILE, "watch.toml")


@pytest.mark.parametrize(
    ("changed", "channels"),
    [
        ({}, ("log",)),
        ({"topic": Topic.MASK}, ("team", "mail")),
        ({"topic": Topic.MASK, "subject": Subject(type="t", qualified_name="q", name="tmp_1")}, ()),
        ({"topic": Topic.MASK, "subject": Subject(type="t", qualified_name="q", name="tmp_12")}, ("team", "mail")),
        ({"hit": FINANCE}, ("log",)),
        ({"hit": FINANCE, "severity": Severity.RISKY}, ("team",)),
        ({"hit": FINANCE, "severity": Severity.BREAKING}, ("team",)),
        ({"owners": ("Ada@example.com",)}, ("mail",)),
    ],
)
def test_the_first_rule_that_matches_decides(
    rules: WatchRules, changed: dict[str, object], channels: tuple[str, ...]
) -> None:
    assert rules.channels_for(structs.replace(MESSAGE, **changed)) == channels


@pytest.mark.parametrize(
    ("hour", "severity", "until"),
    [
        (18, Severity.RISKY, None),
        (19, Severity.RISKY, datetime(2026, 11, 24, 6, tzinfo=UTC)),
        (19, Severity.BREAKING, None),
        (3, Severity.RISKY, datetime(2026, 11, 23, 6, tzinfo=UTC)),
        (6, Severity.RISKY, None),
    ],
)
def test_quiet_hours_are_those_of_the_time_zone(
    rules: WatchRules, hour: int, severity: Severity, until: datetime | None
) -> None:
    assert rules.quiet_until(datetime(2026, 11, 23, hour, tzinfo=UTC), severity) == until


def test_quiet_hours_end_where_clocks_change(rules: WatchRules) -> None:
    """The night of 29 March 2026 has an hour less in Berlin."""
    late = datetime(2026, 3, 28, 20, tzinfo=UTC)
    assert rules.quiet_until(late, Severity.RISKY) == datetime(2026, 3, 29, 5, tzinfo=UTC)


def test_quiet_hours_within_a_day() -> None:
    watch_rules = parse_watch_rules('[quiet]\nfrom = "12:00"\nto = "13:00"\n', "w")
    assert watch_rules.quiet_until(datetime(2026, 11, 23, 12, 30, tzinfo=UTC), Severity.BREAKING) is not None
    assert watch_rules.quiet_until(datetime(2026, 11, 23, 13, tzinfo=UTC), Severity.BREAKING) is None


WRONG = """qiet = 1
[quiet]
from = "25:00"
to = "07:00"
timezone = "Europe/Belin"
unles = "breaking"

[channels."a b"]
kind = "slack"
path = "x"

[channels.log]
kind = "file"

[[rules]]
to = ["log"]
[[rules]]
topics = ["schema", "lineag"]
at_least = "bad"
subject = ["x"]
owners = "me"
to = ["lgo"]
[[rules]]
topics = ["gate"]
[channel.team]
"""


def test_every_mistake_is_reported_at_once_with_its_line_and_the_nearest_name() -> None:
    with pytest.raises(Misconfigured) as error:
        parse_watch_rules(WRONG, "watch.toml")
    first, *messages = str(error.value).splitlines()
    assert "has 14 mistakes" in first
    assert [int(line.split(":")[1]) for line in messages] == [1, 3, 5, 6, 8, 10, 12, 18, 19, 20, 21, 22, 23, 25]
    text = "\n".join(messages)
    for suggestion in ("quiet", "unless", "lineage", "subjects", "log", "channels"):
        assert f"Did you mean {suggestion}?" in text
    assert 'at_least must be "harmless", "risky" or "breaking"' in text


@pytest.mark.parametrize("text", ["x = ", "rules = 3", "channels = 4", "quiet = 5", "[[quiet]]", "[channels]\na = 1"])
def test_values_of_a_wrong_shape_are_reported_as_mistakes(text: str) -> None:
    with pytest.raises(Misconfigured, match=r"watch\.toml"):
        parse_watch_rules(text, "watch.toml")


WORDS = st.one_of(st.text(max_size=5), st.integers(), st.lists(st.text(max_size=4), max_size=2), st.booleans())


QUIET = st.dictionaries(st.sampled_from(["from", "to", "timezone", "unless", "x"]), WORDS)
RULE = st.dictionaries(st.sampled_from(["topics", "to", "owners", "at_least"]), WORDS)


@given(QUIET, RULE)
def test_any_values_are_rules_or_mistakes(quiet: dict[str, object], rule: dict[str, object]) -> None:
    lines = ["[quiet]", *(f"{key} = {json.dumps(value)}" for key, value in quiet.items())]
    lines += ["[[rules]]", *(f"{key} = {json.dumps(value)}" for key, value in rule.items())]
    with suppress(Misconfigured):
        assert parse_watch_rules("\n".join(lines), "w").rules
