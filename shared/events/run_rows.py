"""The rows of a run's partition of `runs`, by kind: `shared/storage_layout.py` lists them."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from shared.events.archive_index import ARCHIVED
from shared.records.application.entries import holds_entries
from shared.storage.port import Row
from shared.storage_layout import APPLICATION, COMPACTED, PROCESS_REF, STATE, StoredEvent, stored_from_row


@dataclass(slots=True, kw_only=True)
class RunRows:
    """The rows of a run by kind. `events`: its events that are not archived, each with its row.

    Where the run is an application: `processes` that it wrote, by key, and the `entries` that its runs wrote for one
    another.
    """

    state: Row | None = None
    compacted: Row | None = None
    application: Row | None = None
    events: dict[StoredEvent, Row] = field(default_factory=dict)
    archived: list[Row] = field(default_factory=list)
    processes: list[str] = field(default_factory=list)
    entries: list[Row] = field(default_factory=list)

    @classmethod
    def of(cls, run_id: str, rows: Iterable[Row]) -> "RunRows":
        """From all rows of the run's partition."""
        found = cls()
        for row in rows:
            if row.key == STATE:
                found.state = row
            elif row.key == COMPACTED:
                found.compacted = row
            elif row.key == APPLICATION:
                found.application = row
            elif row.key.startswith(ARCHIVED):
                found.archived.append(row)
            elif row.key.startswith(PROCESS_REF):
                found.processes.append(row.key.removeprefix(PROCESS_REF))
            elif holds_entries(row):
                found.entries.append(row)
            elif place := stored_from_row(run_id, row.key):
                found.events[place] = row
        return found
