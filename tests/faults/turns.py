"""Workers that take turns in virtual time: real threads of which exactly one runs, handed over at every pause.

Each pause names its length, and whoever is due first goes on, so lengths drawn from a seed draw the interleaving: any
order of calls can come up, and the same seed gives the same one again.
"""

import heapq
import itertools
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


class Killed(BaseException):
    """`kill -9`: nothing of ours may catch it, and nothing after it reaches storage or catalog."""


@dataclass(slots=True, kw_only=True, eq=False)
class Worker:
    """A thread that waits for its turn at `due`; `process` is what it dies with."""

    number: int
    process: int
    due: float
    parked: bool = False
    dead: bool = False
    ended: bool = False
    turn: threading.Lock = field(default_factory=threading.Lock)


class Turns:
    """The clock (`now`, in seconds), and whose turn it is (`current`; None while no workers run)."""

    def __init__(self) -> None:
        self.now = 0.0
        self.current: Worker | None = None
        self.idle = False
        self._workers: list[Worker] = []
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._over = threading.Lock()
        self._failure: BaseException | None = None

    @property
    def failed(self) -> bool:
        """Whether a worker has raised something, and all others are to stop."""
        return self._failure is not None

    def run(self, bodies: Sequence[Callable[[], None]], *, processes: int = 1) -> None:
        """Run these to their end, spread over so many processes. Raises the first thing that one of them raised."""
        self._workers = [
            Worker(number=number, process=number % processes, due=self.now + number / 1e6)
            for number in range(len(bodies))
        ]
        self._over.acquire()
        threads = [
            threading.Thread(target=self._live, args=(worker, body), daemon=True)
            for worker, body in zip(self._workers, bodies, strict=True)
        ]
        for worker, thread in zip(self._workers, threads, strict=True):
            worker.turn.acquire()
            thread.start()
        self._pass_on()
        self._over.acquire()
        self._over.release()
        for thread in threads:
            thread.join()
        self.current = None
        if self._failure:
            raise self._failure

    def happens(self, at: float, act: Callable[[], None]) -> None:
        """Something that happens by itself then, whatever the workers are at; it must not wait for anything."""
        heapq.heappush(self._due, (at, next(self._numbers), act))

    def sleep(self, seconds: float) -> None:
        """Let others go on for so long. Raises Killed in a worker that has died meanwhile."""
        me = self.current
        if me is None:
            until = self.now + seconds
            self._happened(until)
            self.now = until
            return
        me.due = self.now + seconds
        self._wait(me)
        if me.dead or self._failure:
            raise Killed

    def park(self, until: float = math.inf) -> bool:
        """Let others go on until then or until `wake`. False when nobody is left who could: all is over."""
        me = self.current
        assert me is not None, "only a worker can wait for others"
        me.due, me.parked = until, True
        self._wait(me)
        me.parked = False
        return not (self.idle or self._failure)

    def wake(self, at: float) -> None:
        """Something is to be done then: one who waits for something later is to look."""
        for worker in self._workers:
            if worker.parked and worker.due > at:
                worker.due = max(at, self.now)
                return

    def kill(self, *, whole_process: bool) -> None:
        """Kill the worker whose turn it is, perhaps with all others in its process. Always raises Killed."""
        me = self.current
        if me is not None:
            me.dead = True
            for each in self._workers if whole_process else ():
                if each.process == me.process and not each.parked and not each.ended:
                    each.dead = True
                    each.due = self.now
        raise Killed

    def revive(self) -> None:
        """The worker whose turn it is is a new one from here on."""
        if self.current:
            self.current.dead = False

    def _live(self, me: Worker, body: Callable[[], None]) -> None:
        me.turn.acquire()
        try:
            body()
        except BaseException as error:  # noqa: BLE001 - handed to whoever runs the workers
            if self._failure is None:
                self._failure = error
        finally:
            me.ended = True
            self._pass_on()

    def _wait(self, me: Worker) -> None:
        chosen = self._choose()
        if chosen is me:
            return
        if chosen:
            chosen.turn.release()
        me.turn.acquire()

    def _pass_on(self) -> None:
        chosen = self._choose()
        if chosen:
            chosen.turn.release()
        else:
            self._over.release()

    def _choose(self) -> Worker | None:
        """Whoever is due first; when all wait for one another, that is the end."""
        alive = [worker for worker in self._workers if not worker.ended]
        if not alive:
            return None
        chosen = min(alive, key=lambda worker: worker.due)
        while self._due and self._due[0][0] <= chosen.due:
            self._happened(self._due[0][0])
            chosen = min(alive, key=lambda worker: worker.due)  # it may have woken somebody
        if chosen.due == math.inf:
            self.idle = True
        else:
            self.now = max(self.now, chosen.due)
        self.current = chosen
        return chosen

    def _happened(self, until: float) -> None:
        """All that happens by itself until then."""
        while self._due and self._due[0][0] <= until:
            at, _, act = heapq.heappop(self._due)
            self.now = max(self.now, at)
            act()
