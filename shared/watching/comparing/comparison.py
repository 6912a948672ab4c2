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
from shared.lineage.graph import has_foreign, reach, way_back, without_foreign
from shared.watching.comparing.changes import Change, ChangeKind, ColumnKey, DatasetKey, Severity, Topic, View, aligned
from shared.watching.comparing.snapshot import Snapshot

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


def same(old_type: str, new_type: str) -> bool:
    """Whether two spellings mean the same type."""
    return folded(old_type) == folded(new_type)


def widens(old_type: str, new_type: str) -> bool:
    """Whether each value of the type `old_type` is also a value of the type `new_type`."""
    old, new = folded(old_type), folded(new_type)
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


def compared(old_view: View, new_view: View) -> tuple[DatasetKey, ...]:
    """The data sets whose schemas are known in both states. One that is new, or no longer reported, is not compared."""
    return tuple(sorted(old_view.schemas.keys() & new_view.schemas.keys()))


def renames(old_view: View, new_view: View) -> dict[ColumnKey, ColumnKey]:
    """The renamed columns: one was removed and one of the same type was added.

    If several of one type were removed and added, two belong together if they alone have the same sources and the same
    readers. The others count as dropped and added.
    """
    pairs: dict[ColumnKey, ColumnKey] = {}
    open_pairs: list[tuple[list[ColumnKey], list[ColumnKey]]] = []
    for dataset in compared(old_view, new_view):
        dropped = _by_type(old_view.schemas[dataset], schema_to_skip=new_view.schemas[dataset])
        come = _by_type(new_view.schemas[dataset], schema_to_skip=old_view.schemas[dataset])
        for kind in dropped.keys() & come.keys():
            old, new = ([(*dataset, name) for name in side[kind]] for side in (dropped, come))
            if len(old) == len(new) == 1:
                pairs[old[0]] = new[0]
            else:
                open_pairs.append((old, new))
    for old, new in open_pairs:
        pairs |= _by_neighbours(old_view, new_view, old, new, dict(pairs))
    return pairs


def _by_type(schema: Mapping[str, str], *, schema_to_skip: Mapping[str, str]) -> dict[str, list[str]]:
    by_type: dict[str, list[str]] = {}
    for name, kind in schema.items():
        if name not in schema_to_skip:
            by_type.setdefault(folded(kind), []).append(name)
    return by_type


_Neighbours = tuple[frozenset[ColumnKey], frozenset[ColumnKey]]


def _by_neighbours(
    old_view: View, new_view: View, old: list[ColumnKey], new: list[ColumnKey], names_so_far: Renames
) -> Iterator[tuple[ColumnKey, ColumnKey]]:
    """Pairs of columns with the same sources and readers, which no other column shares. `names_so_far`: renames that
    are known already.
    """
    sides: list[dict[_Neighbours, list[ColumnKey]]] = [{}, {}]
    for view, columns, side, names in ((old_view, old, sides[0], names_so_far), (new_view, new, sides[1], {})):
        for column in columns:
            origins = frozenset(names.get(neighbour, neighbour) for neighbour in view.origins.get(column, ()))
            consumers = frozenset(names.get(neighbour, neighbour) for neighbour in view.consumers(column))
            if origins or consumers:
                side.setdefault((origins, consumers), []).append(column)
    for neighbours in sides[0].keys() & sides[1].keys():
        first, second = sides[0][neighbours], sides[1][neighbours]
        if len(first) == len(second) == 1:
            yield first[0], second[0]


def schema_changes(old_view: View, new_view: View, renamed: Renames) -> Iterator[Change]:
    """The changes of schemas. A rename is one change."""
    new_names = set(renamed.values())
    for dataset in compared(old_view, new_view):
        old, new = old_view.schemas[dataset], new_view.schemas[dataset]
        for name in sorted(old.keys() | new.keys()):
            column = (*dataset, name)
            if column in renamed:
                new_name = renamed[column][2]
                yield _change(old_view, ChangeKind.COLUMN_RENAMED, column, name, new_name)
            elif name not in new:
                yield _change(old_view, ChangeKind.COLUMN_DROPPED, column, old[name], "")
            elif name not in old:
                if column not in new_names:
                    yield _change(new_view, ChangeKind.COLUMN_ADDED, column, "", new[name])
            elif not same(old[name], new[name]):
                wider = widens(old[name], new[name])
                kind = ChangeKind.TYPE_WIDENED if wider else ChangeKind.TYPE_CHANGED
                yield _change(old_view, kind, column, old[name], new[name])


def _change(view: View, kind: ChangeKind, column: ColumnKey, old_text: str, new_text: str) -> Change:
    return Change(
        topic=Topic.SCHEMA,
        severity=_SEVERITY[kind][view.is_read(column)],
        kind=kind,
        dataset=column[:2],
        column=column[2],
        before=old_text,
        after=new_text,
        starts=() if kind is ChangeKind.COLUMN_ADDED else (column,),
        was=True,
    )


def lineage_changes(old_view: View, new_view: View, renamed: Renames) -> Iterator[Change]:
    """The sources that were added or removed, of data sets that were written before. A new data set is no change.

    Sources of a column are compared if the column is in both states. A source column that was dropped or renamed is a
    change of its schema only.
    """
    for dataset in sorted(old_view.sources):
        yield from _of_dataset(old_view, new_view, dataset)
    for column in sorted(old_view.origins.keys() | new_view.origins.keys()):
        if column[:2] in old_view.sources and column[:2] in new_view.sources:
            yield from _of_column(old_view, new_view, column, renamed)


def _of_dataset(old_view: View, new_view: View, dataset: DatasetKey) -> Iterator[Change]:
    was, now = old_view.sources[dataset], new_view.sources.get(dataset, {})
    for kind, view, sources, other_sources in (
        (ChangeKind.SOURCE_CAME, new_view, now, was),
        (ChangeKind.SOURCE_WENT, old_view, was, now),
    ):
        for source in sorted(sources.keys() - other_sources.keys()):
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
    return any(column[:2] == source for column in columns)


def _of_column(old_view: View, new_view: View, column: ColumnKey, renamed: Renames) -> Iterator[Change]:
    """Changed sources of a column, among data sets that are sources of its data set in both states."""
    if column in renamed.values():  # under its old name it is compared below
        return
    now_called = renamed.get(column, column)
    if not (_known(old_view, column) and _known(new_view, now_called)):
        return
    common = old_view.sources[column[:2]].keys() & new_view.sources[column[:2]].keys()
    was = {renamed.get(source, source) for source in old_view.origins.get(column, ())}
    now = new_view.origins.get(now_called, set())
    for kind, sources in (
        (ChangeKind.COLUMN_SOURCE_CAME, now - was),
        (ChangeKind.COLUMN_SOURCE_WENT, {source for source in was - now if not _is_gone(new_view, source)}),
    ):
        if shown_sources := tuple(sorted(source for source in sources if source[:2] in common)):
            yield Change(
                topic=Topic.LINEAGE,
                severity=Severity.RISKY,
                kind=kind,
                dataset=column[:2],
                column=now_called[2],
                others=shown_sources,
                processes=_between(
                    new_view if kind is ChangeKind.COLUMN_SOURCE_CAME else old_view, column[:2], shown_sources
                ),
                starts=(now_called,),
            )


def _known(view: View, column: ColumnKey) -> bool:
    """Whether a state has a column, by a schema or by an edge."""
    return column in view.columns


def _is_gone(new_view: View, column: ColumnKey) -> bool:
    """Whether a column was dropped from a data set whose schema is still known."""
    schema = new_view.schemas.get(column[:2])
    return schema is not None and column[2] not in schema


def _between(view: View, dataset: DatasetKey, columns: tuple[ColumnKey, ...]) -> tuple[str, ...]:
    sources = view.sources.get(dataset, {})
    return tuple(sorted(set().union(*(sources.get(column[:2], set()) for column in columns))))


def _may_be_plain(edge: Edge) -> bool:
    return edge.is_value and edge.kind is not Kind.MASK and not edge.masked


def _is_plain(edge: Edge) -> bool:
    return _may_be_plain(edge) and edge.kind is not Kind.OPAQUE


def mask_changes(old_view: View, new_view: View, renamed: Renames) -> Iterator[Change]:
    """One change for each column whose value was masked before and now reaches columns plain, and one if it may.

    A value counts as masked only if no path carries it plain, so whole paths are compared, not edges. `others`: the
    columns that it reaches plain now, or may, and reached only masked before, nearest first. A column further upstream
    is named only for columns that it reaches by a path of its own.
    """
    exposed_by: dict[ColumnKey, set[ColumnKey]] = {}
    for column in _masked_and_before(old_view):
        reached = set(old_view.downstream((column,), attrgetter("is_value")).columns)
        plain_before = set(old_view.downstream((column,), _may_be_plain).columns)
        masked_only = {renamed.get(column_key, column_key) for column_key in reached - plain_before}
        now_called = renamed.get(column, column)
        now = new_view.downstream((now_called,), _may_be_plain).columns
        exposed = [column_key for column_key in now if column_key in masked_only]
        explained = set().union(*(exposed_by.get(column_key, set()) for column_key in now))
        exposed_by[now_called] = set(exposed)
        unexplained = [column_key for column_key in exposed if column_key not in explained]
        plain = set(new_view.downstream((now_called,), _is_plain).columns) if unexplained else set()
        for kind, severity, exposed_columns, follows in (
            (
                ChangeKind.MASK_LOST,
                Severity.BREAKING,
                [column_key for column_key in unexplained if column_key in plain],
                _is_plain,
            ),
            (
                ChangeKind.MASK_UNCERTAIN,
                Severity.RISKY,
                [column_key for column_key in unexplained if column_key not in plain],
                _may_be_plain,
            ),
        ):
            if exposed_columns:
                yield Change(
                    topic=Topic.MASK,
                    severity=severity,
                    kind=kind,
                    dataset=now_called[:2],
                    column=now_called[2],
                    others=tuple(exposed_columns),
                    processes=_way(new_view, now_called, exposed_columns[0], follows),
                    starts=tuple(exposed_columns),
                )


def _masked_and_before(view: View) -> list[ColumnKey]:
    """The columns that a mask reads, then the columns that their values come from, nearest first."""
    masked = {view.key(edge.input) for edge in view.document.edges if edge.is_value and not _may_be_plain(edge)}
    return list(
        reach(sorted(masked), lambda column: ((None, origin) for origin in sorted(view.origins.get(column, ()))))
    )


def _way(view: View, start: ColumnKey, end: ColumnKey, follows: Callable[[Edge], bool]) -> tuple[str, ...]:
    """The processes of one shortest path along edges that `follows` accepts, in order."""

    def steps(column: int) -> Iterator[tuple[Edge, int]]:
        yield from ((edge, edge.output) for edge in view.graph.out_of(column) if follows(edge))

    entered = reach([view.columns[start]], steps)
    way = way_back(entered, view.columns[end], attrgetter("input"))
    return tuple(map(view.process_of, way))[::-1]


def quality_changes(was: View, now: View) -> Iterator[Change]:
    """A change for each test that fails newly, also for a test that is new or whose data set is new."""
    earlier = was.failed_tests
    for dataset, column, name in sorted(now.failed_tests - earlier):
        starts = (key for key in now.columns if key[:2] == dataset and (not column or key[2] == column))
        yield Change(
            topic=Topic.QUALITY,
            severity=Severity.RISKY,
            kind=ChangeKind.TEST_FAILED,
            dataset=dataset,
            column=column,
            after=name,
            starts=tuple(sorted(starts)),
        )


def views(old_snapshot: Snapshot, new_snapshot: Snapshot) -> tuple[View, View]:
    """The two states by names. The first one has the names that its data sets have now. If only one of them has foreign
    lineage, it was turned on or off between them, which is no change: it is left out.
    """
    documents = old_snapshot.document, new_snapshot.document
    if len({has_foreign(document) for document in documents}) > 1:
        documents = without_foreign(documents[0]), without_foreign(documents[1])
    return View(aligned(*documents)), View(documents[1])


def changes(old_snapshot: Snapshot, new_snapshot: Snapshot) -> tuple[Change, ...]:
    """The changes from one snapshot to the next, sorted. Equal snapshots have none."""
    was, now = views(old_snapshot, new_snapshot)
    renamed = renames(was, now)
    all_changes = (
        *schema_changes(was, now, renamed),
        *lineage_changes(was, now, renamed),
        *mask_changes(was, now, renamed),
        *quality_changes(was, now),
        *_overdue(old_snapshot, new_snapshot, now),
        *_broken(old_snapshot, new_snapshot),
    )
    return tuple(sorted(all_changes))


def _overdue(old_snapshot: Snapshot, new_snapshot: Snapshot, now: View) -> Iterator[Change]:
    reported = {(late.process, late.last_start) for late in old_snapshot.overdue}
    for late in new_snapshot.overdue:
        process = now.processes.get(late.process)
        if process and (late.process, late.last_start) not in reported:
            keys = tuple(now.datasets)
            sinks = {keys[number] for number in process.outputs}
            yield Change(
                topic=Topic.OVERDUE,
                severity=Severity.RISKY,
                kind=ChangeKind.JOB_OVERDUE,
                process=late.process,
                before=late.last_start.isoformat(),
                after=late.due.isoformat(),
                processes=(late.process,),
                starts=tuple(sorted(column for column in now.columns if column[:2] in sinks)),
            )


def _broken(old_snapshot: Snapshot, new_snapshot: Snapshot) -> Iterator[Change]:
    reported = {(gate.policy, gate.rule) for gate in old_snapshot.broken}
    for gate in new_snapshot.broken:
        if (gate.policy, gate.rule) not in reported:
            yield Change(
                topic=Topic.GATE,
                severity=Severity.BREAKING,
                kind=ChangeKind.GATE_BROKEN,
                policy=gate.policy,
                before=gate.rule,
                after=gate.sentence,
                others=tuple((*key, "") for key in gate.datasets),
            )
