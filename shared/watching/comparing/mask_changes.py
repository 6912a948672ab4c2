"""Masks that were lost: a value that only masks let through before, and that now reaches a column plain."""

from collections import deque
from collections.abc import Iterator

from shared.lineage.document import Edge, Kind
from shared.watching.comparing.changes import Change, ChangeKind, Severity, Topic
from shared.watching.comparing.schema_changes import Renames
from shared.watching.comparing.view import ColumnKey, View


def _is_value(edge: Edge) -> bool:
    return edge.kind is not Kind.CONDITION


def _is_plain(edge: Edge) -> bool:
    return edge.kind is not Kind.CONDITION and edge.kind is not Kind.MASK and not edge.masked


def mask_changes(before: View, after: View, renamed: Renames) -> Iterator[Change]:
    """One change for each column whose value went through a mask, and now reaches columns around it.

    A mask counts only where no way carries the plain value, so whole ways are compared, not single edges. `others`: the
    columns that it reaches plain now, and reached only masked before, nearest first. A column from which the value came
    is named only for what it reaches by a way of its own.
    """
    exposed_by: dict[ColumnKey, set[ColumnKey]] = {}
    for column in _masked_and_before(before):
        reached = set(before.downstream((column,), _is_value).columns)
        plain_before = set(before.downstream((column,), _is_plain).columns)
        hidden = {renamed.get(each, each) for each in reached - plain_before}
        now_called = renamed.get(column, column)
        now = after.downstream((now_called,), _is_plain).columns
        exposed = [each for each in now if each in hidden]
        explained = set().union(*(exposed_by.get(each, set()) for each in now))
        exposed_by[now_called] = set(exposed)
        if shown := tuple(each for each in exposed if each not in explained):
            yield Change(
                topic=Topic.MASK,
                severity=Severity.BREAKING,
                kind=ChangeKind.MASK_LOST,
                dataset=now_called[:2],
                column=now_called[2],
                others=shown,
                processes=_way(after, now_called, shown[0]),
                starts=shown,
            )


def _masked_and_before(view: View) -> list[ColumnKey]:
    """The columns that a mask reads, then those that their values come from, the nearest first."""
    masked = {view.key(each.input) for each in view.document.edges if _is_value(each) and not _is_plain(each)}
    found = dict.fromkeys(sorted(masked))
    queue = deque(found)
    while queue:
        for origin in sorted(view.origins.get(queue.popleft(), ())):
            if origin not in found:
                found[origin] = None
                queue.append(origin)
    return list(found)


def _way(view: View, start: ColumnKey, end: ColumnKey) -> tuple[str, ...]:
    """The processes of one shortest plain way, in their order."""
    numbers = view.columns
    came: dict[int, Edge] = {}
    front = [numbers[start]]
    while front and numbers[end] not in came:
        following: list[int] = []
        for number in front:
            for edge in view.edges_from(number):
                if _is_plain(edge) and edge.output not in came and edge.output != numbers[start]:
                    came[edge.output] = edge
                    following.append(edge.output)
        front = following
    way: list[str] = []
    at = numbers[end]
    while at != numbers[start]:
        way.append(view.process_of(came[at]))
        at = came[at].input
    return tuple(reversed(way))
