"""A world in which every call to storage or catalog may be the last of its worker, and workers take turns by chance.

Real threads run the real pipeline over the in-memory adapters, but only one runs at a time, and who is next is drawn at
every I/O call from a seeded generator: any interleaving at the granularity of calls can happen, and a seed replays it
exactly. A worker that is killed does no further call: no `finally` lets a lease go.
"""

import random
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from shared.catalog import MemoryCatalog
from shared.errors import CatalogUnavailable, Retry
from shared.pipeline import EVENTS, Publishing, publish, receive, settle_event, stored_from_blob
from shared.storage import MemoryStorage
from shared.translation import Patience

_RANK_CHANGES = 0.03
_EPOCH = datetime(2100, 1, 1, tzinfo=UTC)
_CALL_BOUND = 30
"""Calls of anybody, standing for seconds, after which a write to the catalog is certainly over."""


class Killed(BaseException):
    """`kill -9`: nothing of ours may catch it, and nothing after it reaches storage or catalog."""


@dataclass(slots=True, kw_only=True)
class Chaos:
    """Who runs when, and who dies when. `ticks` counts all calls and is the only clock.

    Odd seeds draw the next worker evenly; even ones give each a rank and always take the highest, changing a rank now
    and then, so that a worker may stall for long between two calls (probabilistic concurrency testing, ASPLOS 2010).
    """

    seed: int
    death: float = 0.0
    kill_at: tuple[int, str] | None = None
    ticks: int = 0
    deaths: int = 0
    _random: random.Random = field(init=False)
    _turn: threading.Condition = field(default_factory=threading.Condition)
    _names: list[int] = field(default_factory=list)
    _waiting: list[int] = field(default_factory=list)
    _alive: int = 0
    _chosen: int = -1
    _dead: set[int] = field(default_factory=set)
    _ranks: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def run(self, workers: Sequence[Callable[[], None]]) -> None:
        """Run these workers to their end."""
        self._alive = len(workers)
        failures: list[BaseException] = []

        def body(work: Callable[[], None]) -> None:
            try:
                self._names.append(threading.get_ident())
                started.release()
                self._wait()
                work()
            except BaseException as error:  # noqa: BLE001 - handed to the test below
                failures.append(error)
            finally:
                with self._turn:
                    self._alive -= 1
                    self._choose()

        started = threading.Semaphore(0)
        threads = [threading.Thread(target=body, args=(work,)) for work in workers]
        for thread in threads:
            thread.start()
            started.acquire()  # one after the other, so that the workers' order is the same in every run
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def revive(self) -> None:
        """The calling worker is a new one from here on."""
        self._dead.discard(threading.get_ident())

    def call(self, act: Callable[[], Any]) -> Any:
        """One I/O call, when it is the calling worker's turn; or its death before or after it."""
        me = threading.get_ident()
        self._wait()
        if me in self._dead:
            raise Killed
        self.ticks += 1
        draw = self._random.random()
        if self.kill_at == (self.ticks, "before") or draw < self.death:
            self._die(me)
        result = act()
        if self.kill_at == (self.ticks, "after") or draw > 1 - self.death:
            self._die(me)
        return result

    def _die(self, me: int) -> None:
        self.deaths += 1
        self._dead.add(me)
        raise Killed

    def _wait(self) -> None:
        me = threading.get_ident()
        with self._turn:
            if self._alive == 0:
                return  # no crowd: whoever calls goes on
            self._waiting.append(me)
            self._choose()
            self._turn.wait_for(lambda: self._chosen == me)
            self._chosen = -1

    def _choose(self) -> None:
        """Draw the next one once everybody waits."""
        if self._waiting and len(self._waiting) == self._alive and self._chosen == -1:
            self._waiting.sort(key=self._names.index)
            if self.seed % 2:
                self._chosen = self._random.choice(self._waiting)
            else:
                for worker in self._waiting:
                    if worker not in self._ranks or self._random.random() < _RANK_CHANGES:
                        self._ranks[worker] = self._random.random()
                self._chosen = max(self._waiting, key=self._ranks.__getitem__)
            self._waiting.remove(self._chosen)
            self._turn.notify_all()


class Through:
    """Any adapter, each of its methods a call that chaos may strike. Leases it gives are wrapped too."""

    def __init__(self, real: Any, chaos: Chaos) -> None:
        self._real = real
        self._chaos = chaos
        self._last: dict[int, int] = {}

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._real, name)

        def called(*arguments: Any, **named: Any) -> Any:
            def act() -> Any:
                result = method(*arguments, **named)
                return list(result) if name in {"partition", "scan", "blobs"} else result

            if name in {"write_processes", "create_assets", "delete_process"}:
                act = partial(self._in_time, act)
            result = self._chaos.call(act)
            self._last[threading.get_ident()] = self._chaos.ticks
            return Through(result, self._chaos) if name == "lease" and result is not None else result

        return called

    def _in_time(self, act: Callable[[], Any]) -> Any:
        """A call that comes later than the bound after its worker's last one has timed out on the way."""
        if self._chaos.ticks - self._last.get(threading.get_ident(), self._chaos.ticks) >= _CALL_BOUND:
            raise CatalogUnavailable("timed out", after=0)
        return act()


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What a history ended in."""

    storage: MemoryStorage
    catalog: MemoryCatalog
    deaths: int
    ticks: int


def live_through(
    bodies: Sequence[bytes],
    *,
    seed: int = 0,
    workers: int = 1,
    death: float = 0.0,
    kill_at: tuple[int, str] | None = None,
    duplicates: int = 0,
) -> Outcome:
    """Post these bodies and deliver their blobs in an order drawn by `seed`, with so many workers and deaths.

    Whatever was cut off is delivered again, as the host and the sender do. In the end the clock jumps, and one calm
    publisher drains what is left, as the sweeper does.
    """
    chaos = Chaos(seed=seed, death=death, kill_at=kill_at)
    storage = MemoryStorage(clock=lambda: float(chaos.ticks))
    catalog = MemoryCatalog()
    wrapped_storage, wrapped_catalog = Through(storage, chaos), Through(catalog, chaos)
    calm = Patience(quiet=timedelta(days=100_000))

    def now() -> datetime:
        return _EPOCH + timedelta(seconds=chaos.ticks)

    how = Publishing(batch=3, call_bound=timedelta(seconds=_CALL_BOUND), patience=calm, now=now)
    draw = random.Random(seed)
    todo: deque[tuple[str, bytes]] = deque(("post", body) for body in bodies)
    todo.extend(("post", draw.choice(bodies)) for _ in range(duplicates))
    draw.shuffle(todo)
    posted: set[str] = set()

    def post(body: bytes) -> None:
        receive(wrapped_storage, body, most_bytes=10_000_000)
        for fact in storage.blobs(EVENTS):  # the trigger: seen from outside, so no call of the worker's
            if fact.name not in posted:
                posted.add(fact.name)
                todo.insert(draw.randrange(len(todo) + 1), ("blob", fact.name.encode()))

    def deliver(name: bytes) -> None:
        blob = name.decode()
        body = storage.get(EVENTS, blob)
        assert body is not None
        if settle_event(wrapped_storage, stored_from_blob(blob), body):
            publish(wrapped_storage, wrapped_catalog, how)

    def work() -> None:
        while todo:
            kind, payload = todo.popleft()
            try:
                (post if kind == "post" else deliver)(payload)
            except (Killed, Retry):
                chaos.revive()
                todo.insert(draw.randrange(len(todo) + 1), (kind, payload))

    chaos.run([work] * workers)
    chaos.death, chaos.kill_at = 0.0, None
    for _ in range(3):
        chaos.ticks += 1000
        publish(storage, catalog, how)
    return Outcome(storage=storage, catalog=catalog, deaths=chaos.deaths, ticks=chaos.ticks)
