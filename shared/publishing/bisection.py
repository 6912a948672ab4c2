"""Bisection: how many items a call holds, and which of a refused call are to blame. Pure.

One rule for every call that the catalog does not take: send fewer. After failures that name no culprit a call is half
as long each time (`batch_size`); a refused call is sent again in halves until its culprits are in calls of their own
(`Bisection`); a call that is too long before it is sent is halved until it fits (`shrink_to_fit`).
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

_T = TypeVar("_T")
_FIRST, _SECOND = 1, 2


def batch_size(most: int, failures: int) -> int:
    """How many of `most` items to send after so many failures: all after the first, then half as many each time."""
    return max(1, most >> max(0, failures - 1))


def shrink_to_fit(items: Sequence[_T], fits: Callable[[Sequence[_T]], bool]) -> Sequence[_T]:
    """The first items, halved until they fit; at least one."""
    while len(items) > 1 and not fits(items):
        items = items[: len(items) // 2]
    return items


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call(Generic[_T]):
    """Items to send; `half`: which half of a call that was refused as a whole they are, 0 for none."""

    items: Sequence[_T]
    half: int = 0


class Bisection(Generic[_T]):
    """The calls to make for some items: `next_call`, send it, pass what was refused to `answered`, until there is none.

    What was refused as a whole is sent again in halves, what was refused in part in one call; a call of one item is not
    repeated. `choked`: the items of the two last calls, where they were both halves of a call and refused as a whole:
    then the receiver may be at fault, not an item.
    """

    def __init__(self, items: Sequence[_T]) -> None:
        self._pending: deque[_Call[_T]] = deque([_Call(items=items)] if items else ())
        self._current: _Call[_T] = _Call(items=())
        self._refused_half: Sequence[_T] = ()
        self.choked: Sequence[_T] = ()

    def next_call(self) -> Sequence[_T]:
        """The items of the next call; empty when all calls were made."""
        self._current = self._pending.popleft() if self._pending else _Call(items=())
        return self._current.items

    def answered(self, refused: Sequence[_T], *, final: Sequence[_T] = ()) -> None:
        """Note what was refused of the call that was given last: to be sent again (as it is now), or `final`."""
        sent, half = len(self._current.items), self._current.half
        whole = (*refused, *final) if len(refused) + len(final) == sent else ()
        self.choked = (*self._refused_half, *whole) if half == _SECOND and self._refused_half and whole else ()
        self._refused_half = whole if half == _FIRST else ()
        if sent == 1 or not refused:
            return
        if len(refused) < sent:
            self._pending.append(_Call(items=refused))
            return
        middle = (sent + 1) // 2
        self._pending.append(_Call(items=refused[:middle], half=_FIRST))
        self._pending.append(_Call(items=refused[middle:], half=_SECOND))
