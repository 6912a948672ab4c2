"""Lost masks: values that reached a column only masked before, and reach it plain now, or may reach it so through code
that Spark's plan does not show.
"""

from collections.abc import Callable, Iterator
from operator import attrgetter

from shared.lineage.document import Edge, Kind
from shared.lineage.shortest_ways import reach, way_back
from shared.watching.comparing.changes import Change, ChangeKind, Severity, Topic
from shared.watching.comparing.schema_changes import Renames
from shared.watching.comparing.view import ColumnKey, View


def _may_be_plain(edge: Edge) -> bool:
    return edge.is_value and edge.kind is not Kind.MASK and not edge.masked


def _is_plain(edge: Edge) -> bool:
    return _may_be_plain(edge) and edge.kind is not Kind.OPAQUE


def mask_changes(before: View, after: View, renamed: Renames) -> Iterator[Change]:
    """One change for each column whose value was masked before and now reaches columns plain, and one if it may.

    A value counts as masked only if no path carries it plain, so whole paths are compared, not edges. `others`: the
    columns that it reaches plain now, or may, and reached only masked before, nearest first. A column further upstream
    is named only for columns that it reaches by a path of its own.
    """
    exposed_by: dict[ColumnKey, set[ColumnKey]] = {}
    for column in _masked_and_before(before):
        reached = set(before.downstream((column,), attrgetter("is_value")).columns)
        plain_before = set(before.downstream((column,), _may_be_plain).columns)
        hidden = {renamed.get(each, each) for each in reached - plain_before}
        now_called = renamed.get(column, column)
        now = after.downstream((now_called,), _may_be_plain).columns
        exposed = [each for each in now if each in hidden]
        explained = set().union(*(exposed_by.get(each, set()) for each in now))
        exposed_by[now_called] = set(exposed)
        shown = [each for each in exposed if each not in explained]
        plain = set(after.downstream((now_called,), _is_plain).columns) if shown else set()
        for kind, severity, others, follows in (
            (ChangeKind.MASK_LOST, Severity.BREAKING, [each for each in shown if each in plain], _is_plain),
            (ChangeKind.MASK_UNCERTAIN, Severity.RISKY, [each for each in shown if each not in plain], _may_be_plain),
        ):
            if others:
                yield Change(
                    topic=Topic.MASK,
                    severity=severity,
                    kind=kind,
                    dataset=now_called[:2],
                    column=now_called[2],
                    others=tuple(others),
                    processes=_way(after, now_called, others[0], follows),
                    starts=tuple(others),
                )


def _masked_and_before(view: View) -> list[ColumnKey]:
    """The columns that a mask reads, then the columns that their values come from, nearest first."""
    masked = {view.key(each.input) for each in view.document.edges if each.is_value and not _may_be_plain(each)}
    return list(
        reach(sorted(masked), lambda column: ((None, origin) for origin in sorted(view.origins.get(column, ()))))
    )


def _way(view: View, start: ColumnKey, end: ColumnKey, follows: Callable[[Edge], bool]) -> tuple[str, ...]:
    """The processes of one shortest path along edges that `follows` accepts, in order."""

    def steps(column: int) -> Iterator[tuple[Edge, int]]:
        yield from ((edge, edge.output) for edge in view.edges_from(column) if follows(edge))

    entered = reach([view.columns[start]], steps)
    way = way_back(entered, view.columns[end], attrgetter("input"))
    return tuple(map(view.process_of, way))[::-1]
