"""Channels: their messages have the form that Slack and Teams document; a failing channel does not delay the others."""

import gzip
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from datetime import time as clock
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pytest
from msgspec import structs

from shared.announcing.delivery import MAX_SENT, Sender
from shared.announcing.local_channels import FileChannel, TelemetryChannel
from shared.announcing.outbox import decide, listed
from shared.announcing.rounds import Watched, WatchOptions, watch
from shared.announcing.webhook import Webhook
from shared.concurrency import ParallelMap
from shared.http_errors import TAKEN, Never, NotNow
from shared.outbox import MAX_KEPT
from shared.storage.memory import MemoryStorage
from shared.storage_layout import OUTBOX_PARTITION, WATCH
from shared.telemetry.port import Acts, line_of
from shared.watching.comparing.changes import Severity
from shared.watching.comparing.snapshot import Snapshot
from shared.watching.messages import Message, encoded, messages
from shared.watching.rendering import MAX_AGE, MESSAGE, SIGNATURE, body, verified
from shared.watching.rules import Channel, ChannelKind, Quiet, RoutingRule, WatchRules
from tests.support.outbox import messages_on_record, rows_of
from tests.support.states import state
from tests.support.webhook_server import Trouble, WebhookServer, judge_slack, judge_teams, webhook_server

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
SIGNED_BY = "a word of the test"
JOBS = {"load": ["raw.id > orders.id"], "more": ["orders.id > report.id"]}
BEFORE = state(JOBS, {"raw": "id:int", "orders": "id:int"})
AFTER = state(
    {**JOBS, "late": ["other.id > orders.id"]}, {"raw": "id:string new:int", "orders": "id:int", "other": "id:int"}
)


def found() -> tuple[Message, ...]:
    return messages(BEFORE, AFTER, comparison="one", now=NOW)


def wide(name: str) -> Message:
    """A message with more changes, and longer names, than any receiver takes."""
    columns = [f"{name}{number}" for number in range(300)]
    snapshot_before = state(
        {"load": [f"raw.{column} > orders.{column}" for column in columns]},
        {"raw": " ".join(f"{column}:int" for column in columns)},
    )
    snapshot_after = state({"load": ["raw.k > orders.k"]}, {"raw": "k:int"})
    (message, *_) = sorted(
        messages(snapshot_before, snapshot_after, comparison="wide", now=NOW), key=lambda message: -message.count
    )
    return message


@pytest.mark.parametrize("form", [ChannelKind.SLACK, ChannelKind.TEAMS])
@pytest.mark.parametrize("name", ["c", "x" * 250, "ü" * 250, "<!channel>&", "[a](//example.com)"])
def test_each_form_is_within_the_receiver_s_limits(form: ChannelKind, name: str) -> None:
    judge = {ChannelKind.SLACK: judge_slack, ChannelKind.TEAMS: judge_teams}[form]
    message = wide(name)
    raw = body(message, form)
    assert judge(json.loads(raw), raw) == []
    assert form is ChannelKind.SLACK or "](" not in raw.decode(), "a name is no link"
    assert any(marker in raw.decode() for marker in ("more", "…")), "the message counts the items that it leaves out"


def test_the_judges_report_invalid_slack_and_teams_messages() -> None:
    raw = body(found()[0], ChannelKind.SLACK)
    document = json.loads(raw)
    document["blocks"][0]["text"]["text"] = "x" * 151
    assert judge_slack(document, raw)
    assert judge_slack({"blocks": []}, raw)
    card = json.loads(body(found()[0], ChannelKind.TEAMS))
    assert judge_teams(card, b"x" * 29_000)
    card["attachments"][0]["content"]["body"][0]["color"] = "red"
    assert judge_teams(card, raw)


def test_a_webhook_receives_the_message_and_can_verify_its_signature() -> None:
    (first, *_) = found()
    with webhook_server() as server:
        for form, path in ((ChannelKind.SLACK, "slack"), (ChannelKind.TEAMS, "teams"), (ChannelKind.WEBHOOK, "any")):
            assert Webhook(url=server.url(path), kind=form, secret=SIGNED_BY).send(first) == TAKEN
        assert server.wrong == []
        for _, headers, raw in server.came:
            header = headers[SIGNATURE.lower()]
            now = int(time.time())
            assert verified(SIGNED_BY, raw, header, now)
            assert not verified(SIGNED_BY, raw + b" ", header, now)
            assert not verified("another", raw, header, now)
            assert not verified(SIGNED_BY, raw, header, now + MAX_AGE + 10)
            assert headers[MESSAGE.lower()] == first.id
        assert msgspec.json.decode(server.came[2][2], type=Message) == first
        assert json.loads(server.came[0][2])["blocks"][0]["text"]["text"].endswith(first.title)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, Never),
        (413, Never),
        (403, NotNow),
        (404, NotNow),
        (410, NotNow),
        (429, NotNow),
        (500, NotNow),
        (302, NotNow),
    ],
)
def test_a_response_decides_whether_to_send_again(status: int, expected: type) -> None:
    with webhook_server() as server:
        server.trouble["any"] = Trouble(status=status, headers={"Retry-After": "90", "Location": server.url("slack")})
        answer = Webhook(url=server.url("any"), kind=ChannelKind.WEBHOOK).send(found()[0])
    assert isinstance(answer, expected)
    if isinstance(answer, NotNow):
        assert answer.after == 90.0
    assert server.came == [], "a redirect is not followed"


def test_errors_of_an_unavailable_or_slow_webhook_hide_the_secret_in_its_url() -> None:
    message = found()[0]
    with webhook_server() as server:
        slow = Webhook(url=server.url("slow?sig=SECRET"), kind=ChannelKind.WEBHOOK, answer=0.2)
        server.trouble["slow?sig=SECRET"] = Trouble(pause=5)
        began = time.monotonic()
        answer = slow.send(message)
        assert time.monotonic() - began < 3
        gone_url = server.url("gone?sig=SECRET")
    gone_answer = Webhook(url=gone_url, kind=ChannelKind.WEBHOOK).send(message)
    for webhook_answer in (answer, gone_answer):
        assert isinstance(webhook_answer, NotNow)
        assert "SECRET" not in str(webhook_answer)
    assert "SECRET" not in repr(slow)


@pytest.mark.parametrize("host", ["hooks..slack.com", "a" * 70 + ".com", "[::1", "h:99999", ""])
def test_an_address_that_cannot_exist_is_an_answer_like_any_other(host: str) -> None:
    answer = Webhook(url=f"https://{host}/SECRET", kind=ChannelKind.WEBHOOK).send(found()[0])
    assert isinstance(answer, NotNow)
    assert "SECRET" not in str(answer)


# --- rounds with real receivers


class Life:
    """A watch over two states, with the channels of a test."""

    def __init__(self, senders: Mapping[str, Sender], *, quiet: Quiet | None = None) -> None:
        self.storage = MemoryStorage()
        self.now = NOW
        self.state: Snapshot = BEFORE
        channels = tuple(Channel(name=name, kind=ChannelKind.WEBHOOK) for name in senders)
        self.options = WatchOptions(
            rules=WatchRules(channels=channels, rules=(RoutingRule(to=tuple(senders)),), quiet=quiet),
            senders=senders,
            now=lambda: self.now,
            parallel=ParallelMap(at_once=8),
        )
        assert self.round(BEFORE) == Watched(looked=True), "the first look only remembers"

    def round(self, seen_snapshot: Snapshot | None = None, *, delay: timedelta = timedelta(hours=1)) -> Watched:
        self.state = seen_snapshot or self.state
        self.now += delay
        watch_result = watch(self.storage, self.options, lambda: self.state)
        assert watch_result is not None
        return watch_result


def _webhook(server: WebhookServer, path: str, form: ChannelKind = ChannelKind.WEBHOOK) -> Webhook:
    return Webhook(url=server.url(path), kind=form, connect=1.0, answer=0.3)


def test_a_channel_in_trouble_holds_up_no_other_and_gets_its_messages_later() -> None:
    with webhook_server() as server:
        troubles = {
            "slow": Trouble(pause=3),
            "busy": Trouble(status=429, headers={"Retry-After": "3000"}),
            "broken": Trouble(status=500),
            "gone": Trouble(status=410),
        }
        server.trouble.update(troubles)
        life = Life(
            {name: _webhook(server, name) for name in ("good", *troubles)}
            | {"slack": _webhook(server, "slack", ChannelKind.SLACK)}
        )
        began = time.monotonic()
        watch_result = life.round(AFTER)
        assert time.monotonic() - began < 3
        number = len(found())
        assert (watch_result.decided, watch_result.sent, watch_result.failed) == (number, 2 * number, 4)
        assert len(server.bodies("good")) == len(server.bodies("slack")) == number
        second_result = life.round(delay=timedelta(minutes=30))
        assert (second_result.decided, second_result.sent, second_result.failed) == (0, 0, 3), (
            "the busy one is left alone"
        )
        server.trouble.clear()
        life.round(delay=timedelta(hours=3))
        for name in troubles:
            assert [message_body["id"] for message_body in server.bodies(name)] == [
                message_body["id"] for message_body in server.bodies("good")
            ]
        assert life.round() == Watched(looked=True)
        assert all(not message.open for message in messages_on_record(life.storage))


def test_a_refused_message_is_not_sent_again_and_the_next_one_is() -> None:
    with webhook_server() as server:
        server.trouble["picky"] = Trouble(status=400)
        life = Life({"picky": _webhook(server, "picky")})
        watch_result = life.round(AFTER)
        assert (watch_result.sent, watch_result.refused, watch_result.failed) == (0, len(found()), 0)
        server.trouble.clear()
        assert life.round(BEFORE).sent > 0
        refused = [message for message in messages_on_record(life.storage) if message.refused]
        assert len(refused) == len(found())
        assert refused[0].refused == ("picky: HTTP 400 Bad Request",)


def test_a_message_is_given_up_after_two_weeks() -> None:
    with webhook_server() as server:
        server.trouble["gone"] = Trouble(status=404)
        life = Life({"gone": _webhook(server, "gone")})
        life.round(AFTER)
        assert life.round(delay=MAX_KEPT + timedelta(hours=1)).refused == len(found())
        assert list(listed(life.storage, "gone")) == []


def with_packed(life: Life, number: int, packed_message: bytes) -> str:
    """Decide a message for the channel `file`, and replace its content. Returns its id."""
    message = structs.replace(found()[0], id=f"{number:032}", decided=life.now)
    assert decide(life.storage, message, ["file"])
    row = life.storage.read(WATCH, OUTBOX_PARTITION, f"message|{message.id}")
    assert row
    life.storage.upsert(WATCH, replace(row, values={"content": packed_message}))
    return message.id


def sent_ids(path: Path) -> list[str]:
    return [json.loads(line)["id"] for line in path.read_text().splitlines()]


WHOLE = gzip.compress(encoded(found()[0]), mtime=0)
DAMAGED = {
    "another byte in front": b"x" + WHOLE,
    "other bytes inside": WHOLE[:40] + b"\xff" * 8 + WHOLE[48:],
    "cut off": WHOLE[:-20],
    "no text": gzip.compress(b'{"id":"\xff"}'),
    "no JSON": gzip.compress(b"{"),
    "nothing": b"",
}


@pytest.mark.parametrize("packed_message", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_message_is_refused_and_the_next_one_is_sent(packed_message: bytes, tmp_path: Path) -> None:
    life = Life({"file": FileChannel(path=tmp_path / "messages.jsonl")})
    damaged, _ = with_packed(life, 1, packed_message), with_packed(life, 2, WHOLE)
    watch_result = life.round()
    assert (watch_result.sent, watch_result.refused, watch_result.failed) == (1, 1, 0)
    assert sent_ids(tmp_path / "messages.jsonl") == [found()[0].id]
    ((refused, row),) = rows_of(life.storage, "refused")
    assert refused == ["file", damaged]
    assert str(row.values["reason"]).startswith(f"the content of message {damaged} of `watch` is damaged")
    assert life.round() == Watched(looked=True)


def test_a_message_of_a_newer_version_waits_two_weeks_for_it_and_holds_up_no_other(tmp_path: Path) -> None:
    life = Life({"file": FileChannel(path=tmp_path / "messages.jsonl")})
    topic = b'"topic":"%s"' % found()[0].topic.encode()
    newer = gzip.compress(encoded(found()[0]).replace(topic, b'"topic":"freshness"'))
    waiting = with_packed(life, 1, newer)
    with_packed(life, 2, WHOLE)
    watch_result = life.round()
    assert (watch_result.sent, watch_result.refused, watch_result.failed, watch_result.other_version) == (1, 0, 0, 1)
    assert [outbox_entry.message for outbox_entry in listed(life.storage, "file")] == [waiting]
    last = life.round(delay=MAX_KEPT)
    assert (last.refused, last.other_version) == (1, 0)
    ((refused, row),) = rows_of(life.storage, "refused")
    assert refused == ["file", waiting]
    assert str(row.values["reason"]).startswith(f"another version wrote message {waiting} of `watch`")
    assert life.round() == Watched(looked=True)


def test_a_round_sends_no_more_than_the_maximum_number_of_messages() -> None:
    with webhook_server() as server:
        life = Life({"any": _webhook(server, "any")})
        (first, *_) = found()
        for number in range(MAX_SENT + 5):
            assert decide(life.storage, structs.replace(first, id=f"{number:032}"), ["any"])
        assert [life.round().sent for _ in range(3)] == [MAX_SENT, 5, 0]


def test_quiet_hours_delay_messages_below_the_severity_breaking(tmp_path: Path) -> None:
    quiet = Quiet(
        begins=clock(22),
        ends=clock(7),
        zone=ZoneInfo("Europe/Berlin"),
        unless=Severity.BREAKING,
    )
    life = Life({"file": FileChannel(path=tmp_path / "deep" / "messages.jsonl")}, quiet=quiet)
    life.now = datetime(2026, 11, 23, 21, 30, tzinfo=UTC)
    watch_result = life.round(AFTER)
    severities = [message.severity for message in found()]
    assert watch_result.sent == severities.count(Severity.BREAKING) == 1
    assert watch_result.quiet == len(severities) - 1
    life.now = datetime(2026, 11, 24, 5, 30, tzinfo=UTC)
    assert life.round(delay=timedelta(minutes=20)).sent == 0, "06:50 in Berlin"
    assert life.round(delay=timedelta(minutes=10)).sent == len(severities) - 1
    lines = (tmp_path / "deep" / "messages.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["severity"] for line in lines) == sorted(severities)


def test_a_file_channel_writes_each_message_once_after_a_truncated_line(tmp_path: Path) -> None:
    path = tmp_path / "messages.jsonl"
    path.write_bytes(b'{"id":"cut of')
    channel = FileChannel(path=path)
    for message in (*found(), *found()):
        assert channel.send(message) == TAKEN
    torn, *lines = path.read_text().splitlines()
    assert torn == '{"id":"cut of'
    assert [json.loads(line)["id"] for line in lines] == [message.id for message in found()]
    assert isinstance(FileChannel(path=tmp_path).send(found()[0]), NotNow)


def test_telemetry_writes_a_line_that_an_alert_can_read() -> None:
    telemetry_lines: list[str] = []
    message = next(message for message in found() if message.severity is Severity.BREAKING)
    TelemetryChannel(telemetry=Acts(lambda act: telemetry_lines.append(line_of(act)))).send(message)
    (line,) = telemetry_lines
    assert line.startswith(f"announcement state=breaking topic=schema message={message.id} subject=")
    assert message.title in line
