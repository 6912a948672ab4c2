"""Threads of one process: calls during an execution share one more execution, and one run is folded once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from shared.applications.delivery import Delivery
from shared.applications.processor import ApplicationProcessor
from shared.concurrency import KeyedLock, SingleFlight
from shared.storage.memory import MemoryStorage
from shared.storage_layout import EVENTS
from tests.support.events import write
from tests.support.processing import Watched, post

_SECONDS = 60


def test_calls_during_an_execution_return_at_once_and_share_one_more_execution() -> None:
    single_flight, began, go_on = SingleFlight(), threading.Event(), threading.Event()
    results: list[str] = []

    def work(caller: str) -> None:
        results.append(caller)
        began.set()
        assert go_on.wait(_SECONDS)

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(single_flight.run, partial(work, "first"))
        assert began.wait(_SECONDS)
        for _ in range(3):
            single_flight.run(partial(work, "another"))
        assert results == ["first"]
        go_on.set()
        first.result(_SECONDS)
    assert results == ["first", "first"]


def test_an_error_is_raised_and_does_not_prevent_the_next_execution() -> None:
    flight, results = SingleFlight(), []

    def fails() -> None:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        flight.run(fails)
    flight.run(lambda: results.append("again"))
    assert results == ["again"]


def test_a_key_is_held_by_one_thread_and_does_not_block_other_keys() -> None:
    turns, order = KeyedLock(), list[str]()
    waiting = threading.Event()

    def second() -> None:
        waiting.set()
        with turns.at("a"):
            order.append("second")

    with ThreadPoolExecutor(1) as pool:
        with turns.at("a"):
            second_future = pool.submit(second)
            assert waiting.wait(_SECONDS)
            with turns.at("b"):
                order.append("another")
            order.append("first")
        second_future.result(_SECONDS)
    assert order == ["another", "first", "second"]


def test_two_deliveries_of_one_end_fold_it_once() -> None:
    storage = Watched(MemoryStorage())
    _, end = post(storage, *write("a", "app", "10:00", "/a"))
    storage.calls.clear()
    packed_event = storage.real.get(EVENTS, end.blob) or b""
    delivery = Delivery(processor=ApplicationProcessor(storage=storage), locks=KeyedLock())
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda _: delivery.deliver(end, packed_event), range(2)))
    assert outcomes == [True, True], "whoever folded it may have died before it published"
    assert storage.calls == {"partition": 1, "transact": 2}
