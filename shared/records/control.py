"""Rows of `control`: how far pieces of work have come, the versions of naming and storage layout that wrote the stored
data (checked at the start), and the functions' settings, on record for the commands.

A row of a piece of work holds its position as JSON, so that the work goes on where it stopped.

The row of the settings holds texts by their names (`shared/settings/reading.py` says which). A process of the functions
writes it when it starts, and the sweeper at each tick; both only where it differs from their own. During a deployment
it has those of the process that looked last; once the last old process has ended, a tick writes the new ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, TypeVar

import msgspec

from shared.errors import Misconfigured
from shared.records.cells import PackedCell, cells_of, record_of
from shared.storage.port import Row, Storage
from shared.storage_layout import CHECKPOINT, CONTROL, digest_of
from shared.versions import LAYOUT, NAMING

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint(Generic[T]):
    """The row of the work called `name`; `position` is the type of what it holds. No row: at the beginning, or done."""

    name: str
    position: type[T]

    def load(self, storage: Storage) -> T | None:
        """Where the work goes on. Raises StorageUnavailable."""
        row = storage.read(CONTROL, CHECKPOINT, self.name)
        return msgspec.json.decode(str(row.values["position"]), type=self.position) if row else None

    def save(self, storage: Storage, position: T) -> str:
        """Record the position, whatever was there: the row's etag. Raises StorageUnavailable."""
        values = {"position": msgspec.json.encode(position).decode()}
        return storage.upsert(CONTROL, Row(partition=CHECKPOINT, key=self.name, values=dict(values)))

    def clear(self, storage: Storage, etag: str | None = None) -> None:
        """Record that nothing is left to do; with an `etag` only if no other position was saved since."""
        storage.delete(CONTROL, CHECKPOINT, self.name, etag)


ARCHIVE = Checkpoint(name="archive", position=datetime)
"""When the next archiving is due."""

RECONCILE = Checkpoint(name="reconcile", position=datetime)
"""When placeholders are to be compared with scanned assets the next time."""


class CanaryPosition(msgspec.Struct, frozen=True, kw_only=True):
    """When the next canary is due, and the FAIL that withdraws the one before it; empty once it was accepted."""

    due: datetime
    withdrawal: str = ""


CANARY = Checkpoint(name="canary", position=CanaryPosition)


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """A version of the naming of processes, and one of the storage layout."""

    naming: str = NAMING
    layout: int = LAYOUT

    def __str__(self) -> str:
        return f"naming {self.naming}, layout {self.layout}"


_VERSIONS = Versions()


def stored_versions(storage: Storage) -> Versions | None:
    """The versions on record; None before a worker has started for the first time."""
    row = storage.read(CONTROL, "versions", "written")
    return record_of(Versions, row) if row else None


def note_versions(storage: Storage, versions: Versions = _VERSIONS) -> None:
    """Record these versions as those of all that is stored."""
    storage.upsert(CONTROL, Row(partition="versions", key="written", values=cells_of(versions)))


def mismatch(stored: Versions) -> str:
    """Why this version cannot read data of these versions, and what to do, in a sentence; empty where it can."""
    if stored == _VERSIONS:
        return ""
    when = "" if stored.layout == _VERSIONS.layout else ", once they are deleted"
    return (
        f"The stored data was written by another version of Throughline ({stored}; this one writes {_VERSIONS}). "
        "Install that version, use an empty storage account, or have `throughline replay --all` make the tables again "
        f"from the stored events{when}"
    )


def check_layout(storage: Storage) -> None:
    """Raise Misconfigured where the stored rows have another layout: they cannot be read. Raises StorageUnavailable."""
    stored = stored_versions(storage)
    if stored and stored.layout != _VERSIONS.layout:
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


_KEY = ("settings", "functions")
_FORM = 1
"""The version of the row's form. Raise it when an older reader would misread the row."""

_TEXTS: PackedCell[Mapping[str, str]] = PackedCell(name="texts", decoder=msgspec.json.Decoder(Mapping[str, str]))


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsOnRecord:
    """The texts by the names of settings, and when (UTC) the functions first ran with them."""

    texts: Mapping[str, str]
    since: datetime


def settings_on_record(storage: Storage) -> SettingsOnRecord | None:
    """What the functions put on record; None where they never ran.

    Raises Misconfigured where a newer version wrote it, and StorageUnavailable.
    """
    row = storage.read(CONTROL, *_KEY)
    if row is None:
        return None
    if int(str(row.values["form"])) > _FORM:
        raise Misconfigured(
            "The functions are of a newer version, whose settings on record this one can't read. Install the version"
            " that is deployed"
        )
    return SettingsOnRecord(texts=_TEXTS.unpack(storage, row), since=datetime.fromisoformat(str(row.values["since"])))


def record_settings(storage: Storage, texts: Mapping[str, str], *, now: datetime | None = None) -> bool:
    """Put these settings on record unless they are there already. Whether the row was written.

    Where other processes write at the same time, the last one wins. Raises StorageUnavailable.
    """
    if not texts:
        raise ValueError("settings without a catalog hold nothing to record")
    digest = digest_of(msgspec.json.encode(dict(sorted(texts.items()))))
    row = storage.read(CONTROL, *_KEY)
    if row and row.values.get("digest") == digest:
        return False
    since = (now or datetime.now(UTC)).astimezone(UTC).isoformat()
    values = {"form": _FORM, "digest": digest, "since": since, **_TEXTS.pack(storage, texts)}
    storage.upsert(CONTROL, Row(partition=_KEY[0], key=_KEY[1], values=values))
    return True
