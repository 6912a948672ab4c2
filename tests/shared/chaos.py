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
from shared.pipeline.dirty import dirty_processes
from shared.pipeline.ledger import ledger_entry
from shared.storage import MemoryStorage
from shared.translation import Patience

_RANK_CHANGES = 0.03
EPOCH = datetime(2100, 1, 1, tzinfo=UTC)
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
    left_due: int


def live_through(
    bodies: Sequence[bytes],
    *,
    seed: int = 0,
    workers: int = 1,
    death: float = 0.0,
    kill_at: tuple[int, str] | None = None,
    duplicates: int = 0,
    storage: type[MemoryStorage] = MemoryStorage,
) -> Outcome:
    """Post these bodies and deliver their blobs in an order drawn by `seed`, with so many workers and deaths.

    Whatever was cut off is delivered again, as the host and the sender do. In the end the clock jumps, and one calm
    publisher drains what is left, as the sweeper does. `storage` may be a kind of store that looks on.
    """
    chaos = Chaos(seed=seed, death=death, kill_at=kill_at)
    life = _Life(chaos, bodies, duplicates, storage(clock=lambda: float(chaos.ticks)))
    chaos.run([life.work] * workers)
    chaos.death, chaos.kill_at = 0.0, None
    left_due = life.due()
    for _ in range(3):
        chaos.ticks += 1000
        publish(life.storage, life.catalog, life.how)
    return Outcome(
        storage=life.storage, catalog=life.catalog, deaths=chaos.deaths, ticks=chaos.ticks, left_due=left_due
    )


class _Life:
    """The messages of one history, and what a worker does with them."""

    def __init__(self, chaos: Chaos, bodies: Sequence[bytes], duplicates: int, storage: MemoryStorage) -> None:
        self._chaos = chaos
        self._draw = random.Random(chaos.seed)
        self.storage = storage
        self.catalog = MemoryCatalog()
        self._reached: Any = Through(self.storage, chaos)
        self._written: Any = Through(self.catalog, chaos)
        self.how = Publishing(
            batch=3,
            call_bound=timedelta(seconds=_CALL_BOUND),
            patience=Patience(quiet=timedelta(days=100_000)),
            now=lambda: EPOCH + timedelta(seconds=chaos.ticks),
        )
        self._posted: set[str] = set()
        self._todo: deque[tuple[Callable[[bytes], None], bytes]] = deque((self._post, body) for body in bodies)
        self._todo.extend((self._post, self._draw.choice(bodies)) for _ in range(duplicates))
        self._draw.shuffle(self._todo)

    def due(self) -> int:
        """How many processes are due and were left lying: not those that wait for a write that may still land, for a
        catalog that is left alone, or for another try after it did not answer.
        """
        found, paused_until, _ = dirty_processes(self.storage)
        left = [each for each in found if each.due <= self.how.now() and not each.attempts]
        return 0 if paused_until else sum(each.due != ledger_entry(self.storage, each.process).until for each in left)

    def work(self) -> None:
        """Take messages until there are none; what was cut off goes back among the others."""
        while self._todo:
            act, payload = self._todo.popleft()
            try:
                act(payload)
            except (Killed, Retry):
                self._chaos.revive()
                self._put(act, payload)

    def _put(self, act: Callable[[bytes], None], payload: bytes) -> None:
        self._todo.insert(self._draw.randrange(len(self._todo) + 1), (act, payload))

    def _post(self, body: bytes) -> None:
        receive(self._reached, body, most_bytes=10_000_000)
        for fact in self.storage.blobs(EVENTS):  # the trigger: seen from outside, so no call of the worker's
            if fact.name not in self._posted:
                self._posted.add(fact.name)
                self._put(self._deliver, fact.name.encode())

    def _deliver(self, name: bytes) -> None:
        body = self.storage.get(EVENTS, name.decode())
        assert body is not None
        if settle_event(self._reached, stored_from_blob(name.decode()), body):
            publish(self._reached, self._written, self.how)
