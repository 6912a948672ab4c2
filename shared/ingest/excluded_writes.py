"""What ignored jobs write: a row for each data set, so that nobody takes it for a source of which all is known.

Only events that the settings ignore count (`BY_SETTINGS`): those of the built-in rules can have no lineage.
"""

from collections.abc import Iterator

from shared.openlineage.decoding import Event
from shared.openlineage.selection import NO_WRITE
from shared.openlineage.wire import Dataset
from shared.secrets import without_secrets
from shared.storage.port import Row, Storage
from shared.storage_layout import EXCLUDED, EXCLUDED_WRITE, digest_of

_MAX_TABLES = 4000
"""Characters."""


def note_excluded_writes(storage: Storage, event: Event) -> None:
    """Write the rows of an ignored event's outputs, none if it does not say that they were written. Raises
    StorageUnavailable.
    """
    if event.body and event.type not in NO_WRITE:
        rows = {row.key: row for row in _rows(event, event.body.outputs or ())}
        if rows:
            storage.upsert_all(EXCLUDED, list(rows.values()))


def _rows(event: Event, outputs: tuple[Dataset, ...] | list[Dataset]) -> Iterator[Row]:
    for output in outputs:
        namespace, name = without_secrets(output.namespace, output.name)
        symlinks = output.facets.symlinks.identifiers if output.facets and output.facets.symlinks else None
        tables = "\n".join(sorted({link.name for link in symlinks or ()}))
        yield Row(
            partition=EXCLUDED_WRITE,
            key=digest_of(f"{namespace}\n{name}".encode()),
            values={
                "namespace": namespace,
                "name": name,
                "tables": tables[:_MAX_TABLES],
                "last": event.time.isoformat(),
            },
        )
