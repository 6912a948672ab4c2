"""Threads of one process: calls during an execution share one more execution, and one run is settled once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from shared.concurrency.single_flight import KeyedLock, SingleFlight
from shared.processing.processor import RunProcessor
from shared.storage.memory import MemoryStorage
from shared.storage_layout import EVENTS
from tests.support.events import write
from tests.support.processing import Watched, post

_SECONDS = 60


def test_calls_during_an_execution_return_at_once_and_share_one_more_execution() -> None:
    one, began, go_on = SingleFlight(), threading.Event(), threading.Event()
    done: list[str] = []

    def work(by: str) -> None:
        done.append(by)
        began.set()
        assert go_on.wait(_SECONDS)

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(one.run, partial(work, "first"))
        assert began.wait(_SECONDS)
        for _ in range(3):
            one.run(partial(work, "another"))
        assert done == ["first"]
        go_on.set()
        first.result(_SECONDS)
    assert done == ["first", "first"]


def test_an_error_is_raised_and_does_not_prevent_the_next_execution() -> None:
    one, done = SingleFlight(), []

    def fails() -> None:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        one.run(fails)
    one.run(lambda: done.append("again"))
    assert done == ["again"]


def test_a_key_is_held_by_one_thread_and_does_not_block_other_keys() -> None:
    turns, order = KeyedLock(), list[str]()
    waiting = threading.Event()

    def second() -> None:
        waiting.set()
        with turns.at("a"):
            order.append("second")

    with ThreadPoolExecutor(1) as pool:
        with turns.at("a"):
            later = pool.submit(second)
            assert waiting.wait(_SECONDS)
            with turns.at("b"):
                order.append("another")
            order.append("first")
        later.result(_SECONDS)
    assert order == ["another", "first", "second"]


def test_a_late_start_event_waits_for_the_settling_of_its_end_and_has_nothing_to_do() -> None:
    storage, turns = MemoryStorage(), KeyedLock()
    start, end = post(storage, *write("a", "app", "10:00", "/a"))
    packed = {place: storage.get(EVENTS, place.blob) or b"" for place in (start, end)}
    ending, starting = Watched(storage), Watched(storage)
    noticed = threading.Event()

    def start_comes(name: str, arguments: tuple[object, ...]) -> None:
        if name == "partition" and arguments[0] == "runs" and not noticed.is_set():
            # The end is on record, and its settling has begun: now the start is delivered.
            late.append(pool.submit(RunProcessor(storage=starting, locks=turns).receive, start, packed[start]))
            assert noticed.wait(_SECONDS)

    def start_looks(name: str, _: tuple[object, ...]) -> None:
        if name == "read":
            noticed.set()

    late: list[object] = []
    ending.step_in, starting.step_in = start_comes, start_looks
    with ThreadPoolExecutor(1) as pool:
        assert RunProcessor(storage=ending, locks=turns).receive(end, packed[end])
    assert late
    assert starting.calls.keys() <= {"read", "insert"}
    assert ending.calls["replace"] == 2
