"""Changes of lineage: sources of data sets and of columns that were added or removed."""

from collections.abc import Iterator

from shared.watching.comparing.changes import Change, ChangeKind, Severity, Topic
from shared.watching.comparing.schema_changes import Renames
from shared.watching.comparing.view import ColumnKey, DatasetKey, View


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
