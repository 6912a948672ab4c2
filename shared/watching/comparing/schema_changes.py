"""Changes of schemas: columns that were added, dropped or renamed, and changed types."""

from collections.abc import Iterator, Mapping

from shared.watching.comparing.changes import Change, ChangeKind, Severity, Topic
from shared.watching.comparing.column_types import folded, same, widens
from shared.watching.comparing.view import ColumnKey, DatasetKey, View

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
