"""Which actors' calls commute, so that the explorer need not try them in each order.

Two calls commute where neither touches what the other one writes: a row, a range of rows, a blob, a lease, the
catalog, or the clock, which a call reads if the actor looks at it before its next call. In a state it is enough to go
on with some actors where no other actor will ever make a call that does not commute with their next ones (a persistent
set: Godefroid, "Partial-Order Methods for the Verification of Concurrent Systems", 1996, chapter 4): whatever the
others do meanwhile, they may do afterwards with the same result, so that each end of the full exploration is reached.
No state comes back (each step lengthens an actor's history, or raises the number of its rounds), so that nobody is put
off for ever.

A death touches what the call touches in whose place it comes. While a message waits for a blob that nobody sends any
more, all actors go on: whether it is given up depends on all of them.

What an actor will touch is learned: each exploration notes what follows each call of an actor, and it is repeated until
it meets nothing new. That suffices: the first call that was not foreseen would be made in some order; all calls before
it were foreseen, so that the reduced exploration contains an order that leads to it too.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from tests.faults.explored_actors import Position
from tests.faults.explored_world import READS, Call
from tests.faults.fault_injection import LISTS

_LAST = chr(0x10FFFF)
_CLOCK, _CATALOG = "clock", "catalog"


@dataclass(frozen=True, slots=True)
class Touch:
    """A range of keys (`low` to `high`, without it) in a `space`, a table or container, and there in one `partition` or
    in all (None); and whether it is written.
    """

    space: str
    is_write: bool = False
    partition: str | None = None
    low: str = ""
    high: str = _LAST

    def commutes(self, other: "Touch") -> bool:
        """Whether both orders come to the same."""
        if self.space != other.space or not (self.is_write or other.is_write):
            return True
        if None not in {self.partition, other.partition} and self.partition != other.partition:
            return True
        return self.low >= other.high or other.low >= self.high


def touches(call: Call) -> frozenset[Touch]:
    """What a call touches. A write that is conditional counts as one."""
    if call.to == "catalog":
        others: Iterable[Touch] = [Touch(_CATALOG, call.name not in READS)]
    elif call.name == "lease" or call.to == "lease":
        others = [_one("leases", True, call.given[0])]
    elif call.name in {"put_new", "get", "get_part", "delete_blob", "blob", "blobs", "children"}:
        others = [_of_blobs(call)]
    else:
        others = _of_rows(call)
    return frozenset(others)


def _one(space: str, is_write: bool, key: str, partition: str | None = None) -> Touch:
    return Touch(space, is_write, partition, key, f"{key}\0")


def _of_blobs(call: Call) -> Touch:
    space, is_write = f"blobs {call.given[0]}", call.name not in READS
    if call.name not in LISTS:
        return _one(space, is_write, call.given[1])
    prefix = call.given[1] if call.given[1:] else call.named.get("prefix", "")
    return Touch(space, is_write, None, prefix, f"{prefix}{_LAST}")


def _of_rows(call: Call) -> Iterator[Touch]:
    is_write = call.name not in READS
    match call.name, call.given:
        case "wait", _:
            yield Touch(_CLOCK, is_write)
        case "ended", _:
            pass
        case "scan", (table,):
            yield Touch(f"rows {table}", is_write)
        case "partition", (table, partition):
            since, before = call.named.get("since", ""), call.named.get("before", "")
            yield Touch(f"rows {table}", is_write, partition, since, before or _LAST)
        case "read" | "delete", (table, partition, key, *_):
            yield _one(f"rows {table}", is_write, key, partition)
        case "insert" | "upsert" | "replace", (table, row):
            yield _one(f"rows {table}", is_write, row.key, row.partition)
        case "transact", (table, operations):
            yield from (_one(f"rows {table}", is_write, write.row.key, write.row.partition) for write in operations)
        case _:
            raise ValueError(f"what does {call} touch?")


class Foresight:
    """What the actors may touch. A point is an actor's job and next call; sets of points and of touches are bits."""

    def __init__(self) -> None:
        self._numbers: dict[frozenset[Touch], int] = {}
        self._conflicts: list[int] = []
        self._points: dict[object, int] = {}
        self._touched: list[int] = []
        self._future: list[int] = []
        self._before: defaultdict[int, set[int]] = defaultdict(set)
        self.has_learned = False
        self._clock = 1 << self._number(frozenset((Touch(_CLOCK),)))

    def point(self, actor: int, position: Position, faults: int) -> int:
        """The point of an actor, who may still meet so many faults."""
        if (actor, position, faults) not in self._points:
            touched = touches(position.call)
            point = self._points.setdefault((actor, position.job, faults, touched), len(self._future))
            if point == len(self._future):
                self._touched.append(1 << self._number(touched))
                self._future.append(0)
                self._widen(point, self._touched[-1])
            self._points[actor, position, faults] = point
        return self._points[actor, position, faults]

    def _number(self, touched: frozenset[Touch]) -> int:
        if touched not in self._numbers:
            number = self._numbers[touched] = len(self._numbers)
            mask = 0
            for others, other in self._numbers.items():
                if not all(one.commutes(another) for one in touched for another in others):
                    mask |= 1 << other
                    if other != number:
                        self._conflicts[other] |= 1 << number
            self._conflicts.append(mask)
        return self._numbers[touched]

    def follow(self, point: int, following: int, *, looks: bool) -> None:
        """Learn that a point may come after another one; `looks`: after a look at the clock."""
        if looks and not self._touched[point] & self._clock:
            self._touched[point] |= self._clock
            self._widen(point, self._clock)
        if point not in self._before[following]:
            self._before[following].add(point)
            self._widen(point, self._future[following])

    def _widen(self, point: int, touched: int) -> None:
        """Learn that this may be touched at a point or after it."""
        self.has_learned = True
        changed = [point]
        while changed:
            later = changed.pop()
            if self._future[later] | touched != self._future[later]:
                self._future[later] |= touched
                changed += self._before[later]

    def _conflicts_of(self, touched: int) -> int:
        call = self._conflicts[(touched & ~self._clock).bit_length() - 1]
        return call | self._conflicts[0] if touched & self._clock else call

    def enough(self, points: Mapping[int, int], possible: AbstractSet[int]) -> AbstractSet[int]:
        """The fewest actors that it is enough to go on with, of those that can (`possible`), by the points of all."""
        best: AbstractSet[int] = possible
        for first in sorted(possible):
            chosen, waiting = {first}, [first]
            while waiting and len(chosen) < len(best):
                conflicts = self._conflicts_of(self._touched[points[waiting.pop()]])
                others = [actor for actor in points if actor not in chosen and self._future[points[actor]] & conflicts]
                chosen.update(others)
                waiting += others
            if len(chosen) < len(best) and chosen <= possible:
                best = chosen
        return best
