"""The sweeper's canary: one now and then, on the memory adapters behind a real HTTP server, and what its line says."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from shared.canary import hops
from shared.canary.hops import FAIL, CanaryOptions, SendAnswer, canary_due
from shared.canary.sender import Sender
from shared.openlineage.decoding import decode
from shared.records.control import CANARY
from shared.telemetry.port import Act, Acts, line_of
from tests.support.cli import Parts
from tests.support.installation import installation
from throughline.cli.checks.findings import BY_CODE

HOUR = timedelta(hours=1)


class Timer:
    """A sweeper with a canary: its clock, what it sent, and the lines that it wrote."""

    def __init__(self, url: str, parts: Parts, *, key: str = "") -> None:
        self.parts, self.sender = parts, Sender(url=url, key=key)
        self.now, self.requests, self.acts = datetime.now(UTC), list[bytes](), list[Act]()

    def send(self, raw: bytes) -> SendAnswer:
        self.requests.append(raw)
        return self.sender.send(raw)

    def tick(self, minutes: float = 0) -> None:
        self.now += timedelta(minutes=minutes)
        publishing = replace(self.parts.worker.publishing, now=lambda: self.now, telemetry=Acts(self.acts.append))
        context = replace(self.parts.worker, publishing=publishing)
        canary_due(context, context.names, CanaryOptions(send=self.send, every=HOUR, patience=2))

    @property
    def types(self) -> list[str]:
        return [decode(raw).type for raw in self.requests]

    @property
    def facts(self) -> list[tuple[object, ...]]:
        return [tuple(act.facts.get(name) for name in ("state", "hop", "problem")) for act in self.acts]


def test_one_is_sent_an_hour_and_leaves_nothing() -> None:
    parts = Parts()
    with installation(parts.worker) as url:
        timer = Timer(url, parts)
        timer.tick()
        timer.tick(59)
        assert timer.types == ["START", "COMPLETE", "FAIL"], "the second is not due"
        timer.tick(1)
    assert timer.facts == [("arrived", None, None)] * 2
    assert len(timer.requests) == 6
    assert (parts.catalog.processes, parts.catalog.assets) == ({}, {})
    line = line_of(timer.acts[0])
    for hop in ("start", "complete", "blob", "fold", "catalog", "withdrawal"):
        assert f" {hop}_seconds=" in line


def test_a_failed_one_names_its_hop_and_is_repeated_and_withdrawn_sooner() -> None:
    parts = Parts()
    with installation(parts.worker, refused=FAIL) as url:
        timer = Timer(url, parts)
        timer.tick()
    assert timer.facts == [("failed", "withdrawal", "trial-left")]
    assert len(parts.catalog.processes) == 1
    position = CANARY.load(parts.storage)
    assert position
    assert decode(position.withdrawal.encode()).type == FAIL
    with installation(parts.worker) as url:
        timer.sender = Sender(url=url)
        timer.tick(5)
    assert timer.types[3:] == ["FAIL", "START", "COMPLETE", "FAIL"]
    assert timer.facts[-1] == ("arrived", None, None)
    assert parts.catalog.processes == {}


def test_a_receiver_that_does_not_answer_fails_the_first_hop_and_not_the_sweep() -> None:
    timer = Timer("http://127.0.0.1:9", Parts(), key="never-to-be-shown")
    timer.tick()
    assert timer.facts == [("failed", "START", "receiver-unreachable")]
    assert timer.types == ["START"], "nothing was accepted, so nothing is to be withdrawn"
    assert "never-to-be-shown" not in line_of(timer.acts[0]) + repr(timer.sender)


def test_shadow_mode_sends_none() -> None:
    parts = Parts()
    parts.shadow()
    timer = Timer("http://127.0.0.1:9", parts)
    timer.tick()
    assert timer.requests == []


@pytest.mark.parametrize("status", [0, 401, 403, 404, 500, 503])
def test_each_problem_has_a_rule_of_doctor(status: int) -> None:
    parts = Parts()
    canary = hops.Canary(
        context=parts.worker, names=parts.worker.names, send=lambda _: SendAnswer(status=status), owner="x"
    )
    (hop,) = canary.hops(canary.run())
    assert hop.problem in BY_CODE


def test_what_was_accepted_is_withdrawn_when_the_caller_stops() -> None:
    parts, event_types = Parts(), list[str]()

    def send(raw: bytes) -> SendAnswer:
        event_types.append(decode(raw).type)
        return SendAnswer(status=201)

    canary = hops.Canary(context=parts.worker, names=parts.worker.names, send=send, owner="x")
    way = canary.hops(canary.run())
    next(way)
    way.close()
    assert event_types == ["START", "FAIL"]


def test_an_event_that_is_never_stored_or_folded_is_told_apart() -> None:
    parts = Parts()
    canary = hops.Canary(
        context=parts.worker,
        names=parts.worker.names,
        send=lambda _: SendAnswer(status=201),
        owner="x",
        patience=0,
    )
    assert [hop.problem for hop in canary.hops(canary.run())] == ["", "", "event-unstored"]
