"""The versions of naming and storage layout that wrote the stored data: one row of `control`, checked at the start."""

from dataclasses import dataclass

from shared.errors import Misconfigured
from shared.records.cells import cells_of, record_of
from shared.storage.port import Row, Storage
from shared.storage_layout import CONTROL
from shared.versions import LAYOUT, NAMING


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """A version of the naming of processes, and one of the storage layout."""

    naming: str = NAMING
    layout: int = LAYOUT

    def __str__(self) -> str:
        return f"naming {self.naming}, layout {self.layout}"


_OURS = Versions()


def stored_versions(storage: Storage) -> Versions | None:
    """The versions on record; None before a worker has started for the first time."""
    row = storage.read(CONTROL, "versions", "written")
    return record_of(Versions, row) if row else None


def note_versions(storage: Storage, versions: Versions = _OURS) -> None:
    """Record these versions as those of all that is stored."""
    storage.upsert(CONTROL, Row(partition="versions", key="written", values=cells_of(versions)))


def mismatch(stored: Versions) -> str:
    """Why this version cannot read data of these versions, and what to do, in a sentence; empty where it can."""
    if stored == _OURS:
        return ""
    return (
        f"The stored data was written by another version of Throughline ({stored}; this one writes {_OURS}). Install "
        "that version, use an empty storage account, or have `throughline replay --all` make the tables again from the "
        "events of layout 2"
    )


def check_layout(storage: Storage, *, or_before: bool = False) -> None:
    """Raise Misconfigured where the stored rows have another layout: they cannot be read. `or_before`: take the layout
    before this one too. Raises StorageUnavailable.
    """
    stored = stored_versions(storage)
    layouts = {_OURS.layout, *([_OURS.layout - 1] if or_before else [])}
    if stored and stored.layout not in layouts:
        raise Misconfigured(mismatch(stored))


def check_versions(storage: Storage) -> None:
    """Compare the versions on record with ours; record ours where there are none yet.

    Raises Misconfigured where they differ: this version cannot read the stored data. Raises StorageUnavailable.
    """
    stored = stored_versions(storage)
    if stored is None:
        note_versions(storage)
    elif problem := mismatch(stored):
        raise Misconfigured(problem)
