"""All changes between two snapshots: schemas, types of columns, sources, masks, quality tests.

A type is widened if every value of the one is also a value of the other, so that readers keep working. Sources: Spark
SQL, "Data Types", and its rules of upcasting (`Cast.canUpCast`): numbers, decimals, dates and times. A mask is lost if
values that reached a column only masked before reach it plain now, or may reach it so through code that Spark's plan
does not show.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter

from shared.lineage.document import Edge, Kind
from shared.lineage.shortest_ways import reach, way_back
from shared.watching.comparing.changes import Change, ChangeKind, Severity, Topic
from shared.watching.comparing.snapshot import Snapshot
from shared.watching.comparing.view import ColumnKey, DatasetKey, View, aligned

_SYNONYMS = {"tinyint": "byte", "smallint": "short", "integer": "int", "bigint": "long", "real": "float"}
_WIDER: dict[str, frozenset[str]] = {
    "byte": frozenset({"short", "int", "long", "float", "double"}),
    "short": frozenset({"int", "long", "float", "double"}),
    "int": frozenset({"long", "double"}),
    "float": frozenset({"double"}),
    "date": frozenset({"timestamp", "timestamp_ntz"}),
}
_DIGITS = {"byte": 3, "short": 5, "int": 10, "long": 19}
"""Decimal digits of whole numbers."""
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
_CHARACTERS = re.compile(r"(?:var)?char\((\d+)\)")


def folded(kind: str) -> str:
    """A type in one spelling: lower case, no spaces, Spark's short name."""
    text = "".join(kind.split()).lower()
    return _SYNONYMS.get(text, text)


def same(before: str, after: str) -> bool:
    """Whether two spellings mean the same type."""
    return folded(before) == folded(after)


def widens(before: str, after: str) -> bool:
    """Whether each value of the type `before` is also a value of the type `after`."""
    old, new = folded(before), folded(after)
    if new in _WIDER.get(old, ()):
        return True
    if target := _DECIMAL.fullmatch(new):
        digits, scale = int(target[1]), int(target[2])
        if source := _DECIMAL.fullmatch(old):
            return scale >= int(source[2]) and digits - scale >= int(source[1]) - int(source[2])
        return old in _DIGITS and digits - scale >= _DIGITS[old]
    if source := _CHARACTERS.fullmatch(old):
        longer = _CHARACTERS.fullmatch(new)
        return new == "string" or (longer is not None and int(longer[1]) >= int(source[1]))
    return False


Renames = Mapping[ColumnKey, ColumnKey]
"""New names of columns by their old ones."""

_SEVERITY: dict[ChangeKind, tuple[Severity, Severity]] = {
    ChangeKind.COLUMN_ADDED: (Severity.HARMLESS, Severity.HARMLESS),
    ChangeKind.TYPE_WIDENED: (Severity.HARMLESS, Severity.RISKY),
    ChangeKind.TYPE_CHANGED: (Severity.RISKY, Severity.BREAKING),
    ChangeKind.COLUMN_DROPPED: (Severity.RISKY, Severity.BREAKING),
    ChangeKind.COLUMN_RENAMED: (Severity.RISKY, Severity.BREAKING),
}
"""How severe a change is where nothing on record reads the column, and where something does."""


def compared(before: View, after: View) -> tuple[DatasetKey, ...]:
    """The data sets whose schemas are known in both states. One that is new, or no longer reported, is not compared."""
    return tuple(sorted(before.schemas.keys() & after.schemas.keys()))


def renames(before: View, after: View) -> dict[ColumnKey, ColumnKey]:
    """The renamed columns: one was removed and one of the same type was added.

    If several of one type were removed and added, two belong together if they alone have the same sources and the same
    readers. The others count as dropped and added.
    """
    found: dict[ColumnKey, ColumnKey] = {}
    open_pairs: list[tuple[list[ColumnKey], list[ColumnKey]]] = []
    for dataset in compared(before, after):
        gone = _by_type(before.schemas[dataset], without=after.schemas[dataset])
        come = _by_type(after.schemas[dataset], without=before.schemas[dataset])
        for kind in gone.keys() & come.keys():
            old, new = ([(*dataset, name) for name in side[kind]] for side in (gone, come))
            if len(old) == len(new) == 1:
                found[old[0]] = new[0]
            else:
                open_pairs.append((old, new))
    for old, new in open_pairs:
        found |= _by_neighbours(before, after, old, new, dict(found))
    return found


def _by_type(schema: Mapping[str, str], *, without: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, kind in schema.items():
        if name not in without:
            found.setdefault(folded(kind), []).append(name)
    return found


_Neighbours = tuple[frozenset[ColumnKey], frozenset[ColumnKey]]


def _by_neighbours(
    before: View, after: View, old: list[ColumnKey], new: list[ColumnKey], known: Renames
) -> Iterator[tuple[ColumnKey, ColumnKey]]:
    """Pairs of columns with the same sources and readers, by the new names of `known` renames, that no other column
    shares.
    """
    sides: list[dict[_Neighbours, list[ColumnKey]]] = [{}, {}]
    for view, columns, side, names in ((before, old, sides[0], known), (after, new, sides[1], {})):
        for each in columns:
            origins = frozenset(names.get(one, one) for one in view.origins.get(each, ()))
            consumers = frozenset(names.get(one, one) for one in view.consumers(each))
            if origins or consumers:
                side.setdefault((origins, consumers), []).append(each)
    for neighbours in sides[0].keys() & sides[1].keys():
        first, second = sides[0][neighbours], sides[1][neighbours]
        if len(first) == len(second) == 1:
            yield first[0], second[0]


def schema_changes(before: View, after: View, renamed: Renames) -> Iterator[Change]:
    """The changes of schemas. A rename is one change."""
    new_names = set(renamed.values())
    for dataset in compared(before, after):
        old, new = before.schemas[dataset], after.schemas[dataset]
        for name in sorted(old.keys() | new.keys()):
            column = (*dataset, name)
            if column in renamed:
                to = renamed[column][2]
                yield _change(before, ChangeKind.COLUMN_RENAMED, column, name, to)
            elif name not in new:
                yield _change(before, ChangeKind.COLUMN_DROPPED, column, old[name], "")
            elif name not in old:
                if column not in new_names:
                    yield _change(after, ChangeKind.COLUMN_ADDED, column, "", new[name])
            elif not same(old[name], new[name]):
                wider = widens(old[name], new[name])
                kind = ChangeKind.TYPE_WIDENED if wider else ChangeKind.TYPE_CHANGED
                yield _change(before, kind, column, old[name], new[name])


def _change(view: View, kind: ChangeKind, column: ColumnKey, before: str, after: str) -> Change:
    return Change(
        topic=Topic.SCHEMA,
        severity=_SEVERITY[kind][view.is_read(column)],
        kind=kind,
        dataset=column[:2],
        column=column[2],
        before=before,
        after=after,
        starts=() if kind is ChangeKind.COLUMN_ADDED else (column,),
        was=True,
    )


def lineage_changes(before: View, after: View, renamed: Renames) -> Iterator[Change]:
    """The sources that were added or removed, of data sets that were written before. A new data set is no change.

    Sources of a column are compared if the column is in both states. A source column that was dropped or renamed is a
    change of its schema only.
    """
    for dataset in sorted(before.sources):
        yield from _of_dataset(before, after, dataset)
    for column in sorted(before.origins.keys() | after.origins.keys()):
        if column[:2] in before.sources and column[:2] in after.sources:
            yield from _of_column(before, after, column, renamed)


def _of_dataset(before: View, after: View, dataset: DatasetKey) -> Iterator[Change]:
    was, now = before.sources[dataset], after.sources.get(dataset, {})
    for kind, view, sources, others in (
        (ChangeKind.SOURCE_CAME, after, now, was),
        (ChangeKind.SOURCE_WENT, before, was, now),
    ):
        for source in sorted(sources.keys() - others.keys()):
            fed = {key for key, made_of in view.origins.items() if key[:2] == dataset and _of(source, made_of)}
            yield Change(
                topic=Topic.LINEAGE,
                severity=Severity.RISKY,
                kind=kind,
                dataset=dataset,
                others=((*source, ""),),
                processes=tuple(sorted(sources[source])),
                starts=tuple(sorted(fed)),
                was=kind is ChangeKind.SOURCE_WENT,
            )


def _of(source: DatasetKey, columns: set[ColumnKey]) -> bool:
    return any(each[:2] == source for each in columns)


def _of_column(before: View, after: View, column: ColumnKey, renamed: Renames) -> Iterator[Change]:
    """Changed sources of a column, among data sets that are sources of its data set in both states."""
    if column in renamed.values():  # under its old name it is compared below
        return
    now_called = renamed.get(column, column)
    if not (_known(before, column) and _known(after, now_called)):
        return
    both = before.sources[column[:2]].keys() & after.sources[column[:2]].keys()
    was = {renamed.get(each, each) for each in before.origins.get(column, ())}
    now = after.origins.get(now_called, set())
    for kind, found in (
        (ChangeKind.COLUMN_SOURCE_CAME, now - was),
        (ChangeKind.COLUMN_SOURCE_WENT, {each for each in was - now if not _is_gone(after, each)}),
    ):
        if others := tuple(sorted(each for each in found if each[:2] in both)):
            yield Change(
                topic=Topic.LINEAGE,
                severity=Severity.RISKY,
                kind=kind,
                dataset=column[:2],
                column=now_called[2],
                others=others,
                processes=_between(after if kind is ChangeKind.COLUMN_SOURCE_CAME else before, column[:2], others),
                starts=(now_called,),
            )


def _known(view: View, column: ColumnKey) -> bool:
    """Whether a state has a column, by a schema or by an edge."""
    return column in view.columns


def _is_gone(after: View, column: ColumnKey) -> bool:
    """Whether a column was dropped from a data set whose schema is still known."""
    schema = after.schemas.get(column[:2])
    return schema is not None and column[2] not in schema


def _between(view: View, dataset: DatasetKey, columns: tuple[ColumnKey, ...]) -> tuple[str, ...]:
    sources = view.sources.get(dataset, {})
    return tuple(sorted(set().union(*(sources.get(each[:2], set()) for each in columns))))


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


def quality_changes(was: View, now: View) -> Iterator[Change]:
    """A change for each test that fails newly, also for a test that is new or whose data set is new."""
    known = was.failed_tests
    for dataset, column, name in sorted(now.failed_tests - known):
        starts = (each for each in now.columns if each[:2] == dataset and (not column or each[2] == column))
        yield Change(
            topic=Topic.QUALITY,
            severity=Severity.RISKY,
            kind=ChangeKind.TEST_FAILED,
            dataset=dataset,
            column=column,
            after=name,
            starts=tuple(sorted(starts)),
        )


def views(before: Snapshot, after: Snapshot) -> tuple[View, View]:
    """The two states by names. The first one has the names that its data sets have now."""
    return View(aligned(before.document, after.document)), View(after.document)


def changes(before: Snapshot, after: Snapshot) -> tuple[Change, ...]:
    """The changes from one snapshot to the next, sorted. Equal snapshots have none."""
    was, now = views(before, after)
    renamed = renames(was, now)
    found = (
        *schema_changes(was, now, renamed),
        *lineage_changes(was, now, renamed),
        *mask_changes(was, now, renamed),
        *quality_changes(was, now),
        *_overdue(before, after, now),
        *_broken(before, after),
    )
    return tuple(sorted(found))


def _overdue(before: Snapshot, after: Snapshot, now: View) -> Iterator[Change]:
    known = {(each.process, each.last_start) for each in before.overdue}
    for each in after.overdue:
        process = now.processes.get(each.process)
        if process and (each.process, each.last_start) not in known:
            keys = tuple(now.datasets)
            written = {keys[number] for number in process.outputs}
            yield Change(
                topic=Topic.OVERDUE,
                severity=Severity.RISKY,
                kind=ChangeKind.JOB_OVERDUE,
                process=each.process,
                before=each.last_start.isoformat(),
                after=each.due.isoformat(),
                processes=(each.process,),
                starts=tuple(sorted(column for column in now.columns if column[:2] in written)),
            )


def _broken(before: Snapshot, after: Snapshot) -> Iterator[Change]:
    known = {(each.policy, each.rule) for each in before.broken}
    for each in after.broken:
        if (each.policy, each.rule) not in known:
            yield Change(
                topic=Topic.GATE,
                severity=Severity.BREAKING,
                kind=ChangeKind.GATE_BROKEN,
                policy=each.policy,
                before=each.rule,
                after=each.sentence,
                others=tuple((*key, "") for key in each.datasets),
            )
