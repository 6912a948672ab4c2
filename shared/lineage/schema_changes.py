"""Put changes of schemas into a document of lineage."""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from shared.lineage.document import LineageDocument, SchemaChange


class ColumnChange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A column that a run saw `added`, `removed` or `retyped`, with its old and its new type (empty: none)."""

    qualified_name: str
    column: str
    change: str
    time: datetime
    old_type: str = ""
    new_type: str = ""


def with_schema_changes(document: LineageDocument, changes: Iterable[ColumnChange]) -> LineageDocument:
    """The document with these changes; those of data sets that it does not have are left out."""
    numbers = {dataset.qualified_name: number for number, dataset in enumerate(document.datasets)}
    rows = {
        SchemaChange(numbers[row.qualified_name], row.column, row.change, row.time, row.old_type, row.new_type)
        for row in changes
        if row.qualified_name in numbers
    }
    return msgspec.structs.replace(document, schema_changes=tuple(sorted(rows)))
