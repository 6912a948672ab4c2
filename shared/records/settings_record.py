"""The settings by which the functions publish, on record for the commands: one row of `control`.

The row holds texts by the names of settings (`shared/settings/reading.py` says which). One conditional write
replaces it whole, so a reader sees the settings of one process.

Who writes: a process of the functions when it starts, and the sweeper at each tick; both only where the row differs
from their own settings. During a deployment processes with old and new settings may run side by side, and the row has
those of the one that looked last. Once the last old process has ended, a tick writes the new ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from shared.errors import Misconfigured, WriteConflict
from shared.records.cells import PackedCell
from shared.storage.locking import RowAddress, compare_and_swap
from shared.storage.port import Row, Storage
from shared.storage_layout import CONTROL, digest_of

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

    def change(found: Row | None) -> Row:
        if found and found.values.get("digest") == digest:
            return found
        since = (now or datetime.now(UTC)).astimezone(UTC).isoformat()
        values = {"form": _FORM, "digest": digest, "since": since, **_TEXTS.pack(storage, texts)}
        return Row(partition=_KEY[0], key=_KEY[1], values=values)

    try:
        return compare_and_swap(
            storage, RowAddress(CONTROL, *_KEY), change, decode=lambda row: row, encode=lambda row: row
        ).changed
    except WriteConflict:
        return False  # others keep writing theirs: the sweeper looks again within a minute
