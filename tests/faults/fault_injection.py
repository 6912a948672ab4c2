"""Storage or catalog whose calls may fail in all ways of calls over a network."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from shared.errors import CatalogRefused, CatalogUnavailable, StorageUnavailable
from shared.storage.port import Operation, OperationKind
from tests.faults.scheduler import Scheduler

LISTS = frozenset({"partition", "scan", "blobs", "children"})
STORAGE_WRITES = frozenset({"put_new", "insert", "upsert", "replace", "delete", "transact"})
"""Calls that change storage."""
WRITES = frozenset({"write_processes", "create_assets", "describe_placeholder", "delete_process"})
"""Calls that change the catalog."""
BULKS = frozenset({"write_processes", "create_assets"})
"""Calls that a catalog may execute in part."""
UNASKED = frozenset({"calls_to_write", "may_still_land"})
"""Attributes that need no call."""

RACES: dict[str, Any] = {
    "insert": None,
    "replace": None,
    "transact": None,
    "put_new": False,
    "lease": None,
    "renew": False,
}
"""The answer to the SDK's retry of a call that took effect but whose response was lost."""

_LONGEST_STALL = 300.0
_HALVED = 0.7
"""The share of refused bulks that are executed in part."""
_TIMED_OUT = "timed out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """The shares of calls with each fault.

    `before`: it fails (429, 503, no connection). `after`: it takes effect, then fails (the answer is lost). `late`: it
    fails by timeout, and takes effect later. `race`: it takes effect, and is answered as if it had not (409, 412; a
    lost lease). `slow`: it, or its answer, takes up to minutes. `torn`: a list is read in two pages, and others write
    in between. `refused`: the catalog refuses it (400, 403), or executes a part of it and reports that, refuses it or
    answers 500. `death`: the worker dies before or after it, half the time with its whole process.
    """

    before: float = 0.0
    after: float = 0.0
    late: float = 0.0
    race: float = 0.0
    slow: float = 0.0
    torn: float = 0.0
    refused: float = 0.0
    death: float = 0.0

    def draw(self, chance: random.Random) -> str:
        """Draw the fault of this call: the name of a rate, or ""."""
        remainder = chance.random()
        for name in self.__slots__:
            remainder -= getattr(self, name)
            if remainder < 0:
                return name
        return ""


def no_trace(_line: str) -> None:
    """Print nothing: the default. Lines of calls are not made for it; that would take a twentieth of all time."""


@dataclass(slots=True, kw_only=True)
class Faults:
    """The faults of a history, and their times.

    `aside` draws answers separately, so that seeds keep their histories. `calls` counts all calls, `met` the faults.
    `away` are the times when a whole store is unavailable; `at` lets one call fail, by number. `stored` is called with
    each new blob, `trace` with each call.
    """

    scheduler: Scheduler
    chance: random.Random
    aside: random.Random = field(default_factory=lambda: random.Random("aside"))
    rates: Rates = field(default_factory=Rates)
    at: tuple[int, str] | None = None
    away: dict[str, tuple[float, float]] = field(default_factory=dict)
    call_bound: float = 120.0
    calls: int = 0
    met: Counter[str] = field(default_factory=Counter)
    stored: Callable[[str, str], None] = lambda _container, _name: None
    later: Callable[[float, Callable[[], object]], None] = lambda _instant, _act: None
    trace: Callable[[str], None] = no_trace

    def strike(self, target: str) -> str:
        """Return the fault of this call to a store that may be unavailable."""
        self.calls += 1
        begins, ends = self.away.get(target, (0.0, 0.0))
        if begins <= self.scheduler.now < ends:
            return "away"
        if self.at and self.at[0] == self.calls:
            return self.at[1]
        return self.rates.draw(self.chance) or "well"

    def pause(self, longest: float) -> float:
        """Draw the seconds of something slow: mostly few."""
        return longest * self.chance.random() ** 3


Act = Callable[[], object]


def _nothing(_act: Act) -> None:
    """All is well."""


class Faulty:
    """An adapter (`what`: storage or catalog) or a lease whose every method call may fail."""

    def __init__(self, real: Any, target: str, faults: Faults) -> None:
        self._real = real
        self._what = target
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._real, name)
        if name in UNASKED:
            return method
        return partial(self._call, name, method)

    def _call(self, name: str, method: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        faults, scheduler = self._faults, self._faults.scheduler
        scheduler.sleep(faults.chance.expovariate(20.0))
        kind = faults.strike(target=self._what)
        if kind == "refused" and name not in WRITES:
            kind = "well"
        faults.met[kind] += 1
        if faults.trace is not no_trace:
            faults.trace(f"{scheduler.now:10.3f} {_who(scheduler)} #{faults.calls} {kind:6} {name}{_short(arguments)}")
        act = partial(self._act, name, method, arguments, named, torn=kind == "torn")
        if kind == "refused" and name in BULKS and faults.aside.random() < _HALVED:
            return self._halve(name, method, arguments, named)
        actions_before = {
            "away": self._fail,
            "before": self._fail,
            "death": self._die,
            "death before": self._die_now,
            "late": self._time_out,
            "refused": self._refuse,
            "slow": self._dawdle,
        }
        actions_before.get(kind, _nothing)(act)
        result = act()
        actions_after = {"after": self._fail, "death after": self._die_now, "slow": self._stall}
        actions_after.get(kind, _nothing)(act)
        if kind == "race" and name in RACES and not (name == "transact" and _unconditional(arguments[1])):
            return RACES[name]
        return Faulty(result, "lease", faults) if name == "lease" and result is not None else result

    def _fail(self, _act: Act) -> None:
        raise self._failure("did not answer")

    def _die_now(self, _act: Act) -> None:
        self._faults.scheduler.kill(whole_process=False)

    def _die(self, act: Act) -> None:
        whole_process, dies_before = self._faults.chance.random() < 0.5, self._faults.chance.random() < 0.5
        if not dies_before:
            act()
        self._faults.scheduler.kill(whole_process=whole_process)

    def _time_out(self, act: Act) -> None:
        faults, longest = self._faults, self._faults.call_bound - 2
        faults.later(faults.scheduler.now + faults.pause(longest), partial(self._unseen, act))
        faults.scheduler.sleep(faults.pause(longest))
        raise self._failure(_TIMED_OUT)

    def _refuse(self, _act: Act) -> None:
        status = self._faults.chance.choice((400, 403, 404))
        raise CatalogRefused(status=status, code="ATLAS", detail="refused by chance")

    def _halve(self, name: str, method: Callable[..., Any], arguments: Any, named: Any) -> Any:
        """Execute a part of a call, and answer in one of three ways."""
        batch, *other_arguments = arguments
        taken = self._act(
            name, method, (batch[: self._faults.aside.randrange(len(batch) + 1)], *other_arguments), named, torn=False
        )
        answer = self._faults.aside.choice(("partial", "refused", "choked"))
        self._faults.met[f"half taken, {answer}"] += 1
        if answer == "partial":
            return taken
        if answer == "refused":
            raise CatalogRefused(status=400, code="ATLAS", detail="half of it")
        raise CatalogUnavailable("500 by chance", after=0, over=True)

    def _dawdle(self, _act: Act) -> None:
        """Take effect slowly; in the catalog, within the bound of a call."""
        longest = self._faults.call_bound / 2 if self._what == "catalog" else _LONGEST_STALL
        self._faults.scheduler.sleep(self._faults.pause(longest))

    def _stall(self, _act: Act) -> None:
        self._faults.scheduler.sleep(self._faults.pause(_LONGEST_STALL))

    def _failure(self, reason: str) -> Exception:
        delay = self._faults.chance.choice((0.0, 1.0, 5.0, 60.0))
        if self._what == "catalog":
            is_over = reason != _TIMED_OUT and self._faults.aside.random() < 0.5
            blames = self._faults.aside.random() < 0.5
            return CatalogUnavailable(f"the catalog {reason}", after=delay, over=is_over, blames=blames)
        return StorageUnavailable(f"storage {reason}", after=delay)

    def _unseen(self, act: Callable[[], object]) -> None:
        """Execute a late call; nobody receives its refusal."""
        try:
            act()
        except CatalogRefused:
            self._faults.met["refused late"] += 1

    def _act(self, name: str, method: Callable[..., Any], arguments: Any, named: Any, *, torn: bool) -> Any:
        if name not in LISTS:
            result = method(*arguments, **named)
            if name == "put_new" and result:
                self._faults.stored(arguments[0], arguments[1])
            return result
        items = list(method(*arguments, **named))
        return self._torn(items, partial(method, *arguments, **named)) if torn and items else iter(items)

    def _torn(self, items: list[Any], second_listing: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        """Yield the first page as it was, and the second as it is later, or fail."""
        faults = self._faults
        pages = faults.chance.randrange(len(items))
        yield from items[:pages]
        faults.scheduler.sleep(faults.pause(60.0))
        if faults.chance.random() < 0.2:
            raise self._failure("did not answer for the second page")
        last = _order(items[pages - 1]) if pages else None
        yield from (item for item in second_listing() if last is None or _order(item) > last)


def _unconditional(operations: Sequence[Operation]) -> bool:
    """Whether a transaction succeeds again after it took effect."""
    return all(operation.kind is OperationKind.UPSERT for operation in operations)


class CutOff:
    """A way to storage whose worker dies after its first write."""

    def __init__(self, reached: Any, scheduler: Scheduler) -> None:
        self._reached = reached
        self._scheduler = scheduler

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._reached, name)
        return partial(self._last, method) if name in STORAGE_WRITES else method

    def _last(self, method: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        method(*arguments, **named)
        self._scheduler.kill(whole_process=False)


def _order(item: Any) -> tuple[str, str]:
    """Return the sort key of a listing: a blob's name, or a row's keys."""
    if isinstance(item, str):
        return item, ""
    return (item.name, "") if hasattr(item, "name") else (item.partition, item.key)


def _who(scheduler: Scheduler) -> str:
    return f"w{scheduler.current.number}" if scheduler.current else "calm"


def _short(given: tuple[Any, ...]) -> str:
    arguments = (
        f"{getattr(argument, 'partition', '')[:8]}|{argument.key[:60]}" if hasattr(argument, "key") else argument
        for argument in given
    )
    return repr(tuple(str(argument)[:90] for argument in arguments))
