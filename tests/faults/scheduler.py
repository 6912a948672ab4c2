"""A scheduler in virtual time: workers are real threads, exactly one of which runs, until it pauses.

Each pause has a length, and the worker that is due first runs next. Lengths drawn from a seed so select one of all
possible interleavings, always the same one for a seed.
"""

import heapq
import itertools
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


class Killed(BaseException):
    """`kill -9`: our code must not catch it, and no later call reaches storage or catalog."""


@dataclass(slots=True, kw_only=True, eq=False)
class Worker:
    """A thread that waits until it is `due`; a crash of its `process` kills it."""

    number: int
    process: int
    due: float
    parked: bool = False
    dead: bool = False
    ended: bool = False
    turn: threading.Lock = field(default_factory=threading.Lock)


class Scheduler:
    """The virtual clock (`now`, in seconds) and the running worker (`current`; None while none runs)."""

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
        """Whether a worker has raised an error, so that all others stop."""
        return self._failure is not None

    def run(self, bodies: Sequence[Callable[[], None]], *, processes: int = 1) -> None:
        """Run workers to their end, spread over `processes` processes. Raises the first error of any of them."""
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

    def schedule(self, instant: float, act: Callable[[], None]) -> None:
        """Call `act` at a time, independently of the workers; it must not pause."""
        heapq.heappush(self._due, (instant, next(self._numbers), act))

    def sleep(self, seconds: float) -> None:
        """Let others run for `seconds`. Raises Killed in a worker that died in that time."""
        me = self.current
        if me is None:
            until = self.now + seconds
            self._run_scheduled(until)
            self.now = until
            return
        me.due = self.now + seconds
        self._wait(me)
        if me.dead or self._failure:
            raise Killed

    def park(self, until: float = math.inf) -> bool:
        """Let others run until a time or until `wake`. Returns False when no other worker can run."""
        me = self.current
        assert me is not None, "only a worker can wait for others"
        me.due, me.parked = until, True
        self._wait(me)
        me.parked = False
        return not (self.idle or self._failure)

    def wake(self, instant: float) -> None:
        """Wake a parked worker at a time, when there will be work."""
        for worker in self._workers:
            if worker.parked and worker.due > instant:
                worker.due = max(instant, self.now)
                return

    def kill(self, *, whole_process: bool) -> None:
        """Kill the running worker or, with `whole_process`, all workers of its process. Always raises Killed."""
        me = self.current
        if me is not None:
            me.dead = True
            for worker in self._workers if whole_process else ():
                if worker.process == me.process and not worker.parked and not worker.ended:
                    worker.dead = True
                    worker.due = self.now
        raise Killed

    def revive(self) -> None:
        """Replace the running worker by a new one."""
        if self.current:
            self.current.dead = False

    def _live(self, me: Worker, body: Callable[[], None]) -> None:
        me.turn.acquire()
        try:
            body()
        except BaseException as error:  # noqa: BLE001 - raised by `run`
            if self._failure is None:
                self._failure = error
        finally:
            me.ended = True
            self._pass_on()

    def _wait(self, me: Worker) -> None:
        next_worker = self._choose()
        if next_worker is me:
            return
        if next_worker:
            next_worker.turn.release()
        me.turn.acquire()

    def _pass_on(self) -> None:
        next_worker = self._choose()
        if next_worker:
            next_worker.turn.release()
        else:
            self._over.release()

    def _choose(self) -> Worker | None:
        """Return the worker that is due first; when all are parked, the simulation ends."""
        alive = [worker for worker in self._workers if not worker.ended]
        if not alive:
            return None
        next_worker = min(alive, key=lambda worker: worker.due)
        while self._due and self._due[0][0] <= next_worker.due:
            self._run_scheduled(self._due[0][0])
            next_worker = min(alive, key=lambda worker: worker.due)  # it may have woken a worker
        if next_worker.due == math.inf:
            self.idle = True
        else:
            self.now = max(self.now, next_worker.due)
        self.current = next_worker
        return next_worker

    def _run_scheduled(self, until: float) -> None:
        """Run the actions that are scheduled until a time."""
        while self._due and self._due[0][0] <= until:
            instant, _, act = heapq.heappop(self._due)
            self.now = max(self.now, instant)
            act()
