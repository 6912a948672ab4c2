"""Lost masks: values that reached a column only masked before, and reach it plain now."""

from collections.abc import Iterator
from operator import attrgetter

from shared.lineage.document import Edge, Kind
from shared.lineage.shortest_ways import reach, way_back
from shared.watching.comparing.changes import Change, ChangeKind, Severity, Topic
from shared.watching.comparing.schema_changes import Renames
from shared.watching.comparing.view import ColumnKey, View


def _is_plain(edge: Edge) -> bool:
    return edge.is_value and edge.kind is not Kind.MASK and not edge.masked


def mask_changes(before: View, after: View, renamed: Renames) -> Iterator[Change]:
    """One change for each column whose value was masked before and now reaches columns plain.

    A value counts as masked only if no path carries it plain, so whole paths are compared, not edges. `others`: the
    columns that it reaches plain now and reached only masked before, nearest first. A column further upstream is named
    only for columns that it reaches by a path of its own.
    """
    exposed_by: dict[ColumnKey, set[ColumnKey]] = {}
    for column in _masked_and_before(before):
        reached = set(before.downstream((column,), attrgetter("is_value")).columns)
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
    """The columns that a mask reads, then the columns that their values come from, nearest first."""
    masked = {view.key(each.input) for each in view.document.edges if each.is_value and not _is_plain(each)}
    return list(
        reach(sorted(masked), lambda column: ((None, origin) for origin in sorted(view.origins.get(column, ()))))
    )


def _way(view: View, start: ColumnKey, end: ColumnKey) -> tuple[str, ...]:
    """The processes of one shortest path without masks, in order."""

    def steps(column: int) -> Iterator[tuple[Edge, int]]:
        yield from ((edge, edge.output) for edge in view.edges_from(column) if _is_plain(edge))

    entered = reach([view.columns[start]], steps)
    way = way_back(entered, view.columns[end], attrgetter("input"))
    return tuple(map(view.process_of, way))[::-1]
