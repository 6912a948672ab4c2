"""What the changes of a range of git break, by the lineage of the tables that they change."""

from collections.abc import Iterable, Iterator

from shared.governance.checks.breakage import Breakage, BreakageQuestion, Change, Subject
from shared.governance.checks.findings import Verdict
from shared.governance.rules import dataset_named
from shared.lineage.document import LineageDocument
from shared.lineage.graph import UnknownNameError, find_column
from throughline.changes.table_changes import TableChange


def breakages_of(question: BreakageQuestion, changes: Iterable[TableChange]) -> Iterator[Breakage]:
    """What each change breaks. It is not known of a table that the lineage has not, unless its columns stay."""
    document = question.index.document
    for change in changes:
        dataset, remark = dataset_named(document, change.names) if change.names else (None, change.remark)
        if dataset is None:
            is_kept = change.change is Change.KEEP
            yield Breakage(
                subject=".".join(filter(None, (*change.names[:1], change.column))) or change.place,
                change=change.change,
                place=change.place,
                column=change.column,
                verdict=Verdict.HOLDS if is_kept else Verdict.UNKNOWN,
                remark="" if is_kept else f"{remark}. --dbt names models in full" if change.names else remark,
            )
        else:
            yield question.breakage(_subject(document, dataset, change))


def _subject(document: LineageDocument, dataset: int, change: TableChange) -> Subject:
    """The change of a column that the lineage has not is one of the whole table: any dependent may use it."""
    if change.column:
        try:
            column = find_column(document, dataset, change.column)
        except UnknownNameError:
            return Subject(dataset=dataset, column=None, change=Change.REWRITE, place=change.place)
        return Subject(dataset=dataset, column=column, change=change.change, place=change.place)
    return Subject(dataset=dataset, column=None, change=change.change, place=change.place)
