"""The rate limiter with a simulated clock; and a client that keeps to the rate, on real HTTP."""

import json
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from shared.catalog.atlas.annotations import AtlasClassifications
from shared.catalog.atlas.catalog import AtlasCatalog
from shared.catalog.connection.transport import (
    CredentialToken,
    RateLimiter,
    RetryPolicy,
    StaticToken,
    SteadyAtlasClient,
)
from shared.errors import CatalogRefused, CatalogUnavailable
from tests.support.scripted import ScriptedAnswer, scripted

ENTITY = json.dumps({"entities": [{"guid": "g", "attributes": {"qualifiedName": "q"}}]})
QUICK = RetryPolicy(connect=30, read=30, tries=3, max_pause=1.2)
IMPATIENT = RetryPolicy(connect=30, read=2, tries=3, max_pause=1.2)
"""For answers that come too late; others would be too late as well on a busy machine."""
TOO_LATE = ScriptedAnswer(late=3)


@dataclass
class Time:
    """A clock that advances only by sleeping; `slept` has the seconds of each sleep."""

    now: float = 100.0
    slept: list[float] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def test_one_seconds_calls_pass_at_once_and_later_calls_at_the_rate() -> None:
    simulated = Time()
    rate_limiter = RateLimiter(5, clock=simulated.clock, sleep=simulated.sleep)
    assert [rate_limiter.take(10) for _ in range(5)] == [0.0] * 5
    assert simulated.slept == []
    for _ in range(10):
        assert rate_limiter.take(10) == 0.0
    assert simulated.slept == pytest.approx([0.2] * 10)


@pytest.mark.parametrize("rate", [0.1, 1, 7, 100])
def test_no_interval_has_more_calls_than_the_rate_and_one_seconds_burst(rate: float) -> None:
    simulated = Time()
    rate_limiter = RateLimiter(rate, clock=simulated.clock, sleep=simulated.sleep)
    call_times = []
    for number in range(200):
        rate_limiter.take(60)
        call_times.append(simulated.now)
        simulated.now += 0.01 * (number % 7)
    for first in range(0, 200, 13):
        for last in range(first, 200, 17):
            assert last - first + 1 <= (call_times[last] - call_times[first]) * rate + max(1, rate) + 1e-6


def test_unused_calls_do_not_accumulate_beyond_one_second() -> None:
    simulated = Time()
    rate_limiter = RateLimiter(2, clock=simulated.clock, sleep=simulated.sleep)
    simulated.now += 3600
    for _ in range(4):
        rate_limiter.take(10)
    assert simulated.slept == pytest.approx([0.5, 0.5])


def test_without_a_rate_calls_wait_only_when_the_catalog_asks() -> None:
    simulated = Time()
    rate_limiter = RateLimiter(0, clock=simulated.clock, sleep=simulated.sleep)
    assert not any(rate_limiter.take(0) for _ in range(1000))
    rate_limiter.hold(3)
    assert rate_limiter.take(2) == 3
    assert rate_limiter.take(5) == 0
    assert simulated.slept == [3]
    assert rate_limiter.take(5) == 0
    assert simulated.slept == [3]


def test_a_call_that_would_wait_beyond_its_limit_uses_no_turn() -> None:
    simulated = Time()
    rate_limiter = RateLimiter(1, clock=simulated.clock, sleep=simulated.sleep)
    rate_limiter.take(0)
    assert [rate_limiter.take(0.5) for _ in range(5)] == [1.0] * 5
    assert rate_limiter.take(1) == 0
    assert simulated.slept == [1.0]


def test_threads_share_the_turns() -> None:
    rate_limiter = RateLimiter(50)
    for _ in range(50):
        rate_limiter.take(0)
    began = time.monotonic()
    threads = [threading.Thread(target=lambda: [rate_limiter.take(5) for _ in range(5)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - began >= 20 / 50 - 0.05


def test_the_clients_retries_also_keep_to_the_rate() -> None:
    simulated = Time()
    answers = (ScriptedAnswer(status=503), ScriptedAnswer(body=ENTITY), ScriptedAnswer(body=ENTITY))
    with scripted(*answers) as server:
        rate_limiter = RateLimiter(1, clock=simulated.clock, sleep=simulated.sleep)
        catalog = AtlasCatalog(
            SteadyAtlasClient(server.url, StaticToken("t"), retry_policy=QUICK, rate_limiter=rate_limiter)
        )
        catalog.find([("t", "q")])
        catalog.find([("t", "q")])
        assert server.calls == 3
    assert sum(simulated.slept) >= 2.0 - 1e-6  # however long the pause before the second try was


@pytest.mark.parametrize(("status", "is_over"), [(429, True), (503, False)])
def test_other_clients_make_no_call_while_the_catalog_asks_to_wait(status: int, is_over: bool) -> None:
    simulated = Time()
    with scripted(ScriptedAnswer(status=status, headers={"Retry-After": "60"})) as server:
        rate_limiter = RateLimiter(10, clock=simulated.clock, sleep=simulated.sleep)
        for expected_over in (is_over, True):  # the second call is never made
            catalog = AtlasCatalog(
                SteadyAtlasClient(server.url, StaticToken("t"), retry_policy=QUICK, rate_limiter=rate_limiter)
            )
            with pytest.raises(CatalogUnavailable) as error_info:
                catalog.find([("t", "q")])
            assert (error_info.value.after, error_info.value.over, error_info.value.blames) == (
                60,
                expected_over,
                False,
            )
        assert server.calls == 1


FAILED_CALLS: dict[str, tuple[tuple[ScriptedAnswer, ...], bool, bool]] = {
    # answers; whether the call is over, and whether the request may be the reason
    "too many requests": ((ScriptedAnswer(status=429),), True, False),
    "an error inside": ((ScriptedAnswer(status=500),), True, True),
    "a gateway that waited": ((ScriptedAnswer(status=504),), False, True),
    "a request that took too long": ((ScriptedAnswer(status=408),), False, True),
    "overloaded": ((ScriptedAnswer(status=503),), False, False),
    "no answer in time": ((TOO_LATE,), False, True),
    "cut off": ((ScriptedAnswer(cut=True),), False, True),
    "no answer in time, then too many requests": (
        (TOO_LATE, ScriptedAnswer(status=429), ScriptedAnswer(status=429)),
        False,
        True,
    ),
    "a page of a proxy": ((ScriptedAnswer(body="<html>"),), False, False),
}


@pytest.mark.parametrize(("answers", "is_over", "blames"), FAILED_CALLS.values(), ids=FAILED_CALLS)
def test_an_error_tells_whether_the_call_is_over(
    answers: tuple[ScriptedAnswer, ...], is_over: bool, blames: bool
) -> None:
    policy = IMPATIENT if TOO_LATE in answers else QUICK
    with scripted(*answers) as server:
        catalog = AtlasCatalog(SteadyAtlasClient(server.url, StaticToken("t"), retry_policy=policy))
        with pytest.raises(CatalogUnavailable) as error_info:
            catalog.find([("t", "q")])
    assert (error_info.value.over, error_info.value.blames) == (is_over, blames)


def test_a_call_whose_connection_is_refused_is_over() -> None:
    client = SteadyAtlasClient("http://127.0.0.1:9", StaticToken("t"), retry_policy=QUICK)
    with pytest.raises(CatalogUnavailable) as error_info:
        AtlasCatalog(client).find([("t", "q")])
    assert (error_info.value.over, error_info.value.blames) == (True, False)


class Expiring:
    """A credential whose tokens are called 1, 2, 3 …, each good for so many calls."""

    def __init__(self, good_for: int) -> None:
        self._good_for = good_for
        self.given = 0

    def get_token(self, *_: str) -> Any:
        self.given += 1

        class Token:
            token = str(1 + (self.given - 1) // self._good_for)

        return Token()


def test_a_token_that_has_expired_is_renewed_once() -> None:
    with scripted(ScriptedAnswer(status=401), ScriptedAnswer(body=ENTITY)) as server:
        client = SteadyAtlasClient(
            server.url,
            CredentialToken(Expiring(good_for=1), scope="https://catalog.example.com/.default"),
            retry_policy=QUICK,
        )
        assert AtlasCatalog(client).find([("t", "q")]) == {("t", "q"): "g"}
        assert server.calls == 2


def test_a_rejected_token_that_cannot_be_renewed_fails_without_a_retry() -> None:
    with scripted(ScriptedAnswer(status=401)) as server:
        client = SteadyAtlasClient(
            server.url,
            CredentialToken(Expiring(good_for=100), scope="https://catalog.example.com/.default"),
            retry_policy=QUICK,
        )
        with pytest.raises(CatalogRefused):
            AtlasCatalog(client).find([("t", "q")])
        assert server.calls == 1


def test_a_successful_call_reports_whether_an_earlier_try_may_still_take_effect() -> None:
    answers = (
        TOO_LATE,
        ScriptedAnswer(body="{}"),
        ScriptedAnswer(status=429),
        ScriptedAnswer(body="{}"),
    )
    with scripted(*answers) as server:
        catalog = AtlasCatalog(SteadyAtlasClient(server.url, StaticToken("t"), retry_policy=IMPATIENT))
        assert catalog.may_still_land() is False
        catalog.delete_process("q")
        assert catalog.may_still_land() is True
        catalog.delete_process("q")
        assert catalog.may_still_land() is False, "a 429 has done nothing"


ALREADY = ScriptedAnswer(status=400, body=json.dumps({"errorCode": "ATLAS-400-00-01A", "errorMessage": "already"}))
BEFORE = {
    "nothing": ((), False),
    "an answer that came too late": ((TOO_LATE,), True),
    "a gateway that gave up": ((ScriptedAnswer(status=502),), True),
    "an error 500": ((ScriptedAnswer(status=500),), True),
    "a 429": ((ScriptedAnswer(status=429),), False),
}


@pytest.mark.parametrize("case_name", BEFORE)
def test_a_refusal_reports_whether_an_earlier_try_may_have_taken_effect(case_name: str) -> None:
    answers, is_lost = BEFORE[case_name]
    with scripted(*answers, ALREADY) as server:
        policy = IMPATIENT if TOO_LATE in answers else QUICK
        marks = AtlasClassifications(SteadyAtlasClient(server.url, StaticToken("t"), retry_policy=policy))
        with pytest.raises(CatalogRefused) as error_info:
            marks.attach("PII", ["g"])
        assert (server.calls, error_info.value.after_lost_try) == (len(answers) + 1, is_lost)
