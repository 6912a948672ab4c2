"""The settings by which the functions publish, on record for the commands: one row of `control`.

The row holds texts by the names of settings (`shared/settings/recording.py` says which) as packed JSON, cut into cells
of the size that a table takes. One conditional write replaces it whole, so a reader sees the settings of one process.

Who writes: a process of the functions when it starts, and the sweeper at each tick; both only where the row differs
from their own settings. During a deployment processes with old and new settings may run side by side, and the row has
those of the one that looked last. Once the last old process has ended, a tick writes the new ones.
"""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from shared.errors import Misconfigured, WriteConflict
from shared.storage.compare_and_swap import RowAddress, compare_and_swap
from shared.storage.port import Row, Storage
from shared.storage_layout import CONTROL, digest_of

_KEY = ("settings", "functions")
_FORM = 1
"""The version of the row's form. Raise it when an older reader would misread the row."""

_CELL = 60 * 1024
_MOST_CELLS = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsOnRecord:
    """The texts by the names of settings, and when (UTC) the functions first ran with them."""

    texts: Mapping[str, str]
    since: datetime


def settings_on_record(storage: Storage) -> SettingsOnRecord | None:
    """What the functions put on record; None where they never ran.

    Raises Misconfigured where a newer version wrote it, and StorageUnavailable.
    """
    found = storage.read(CONTROL, *_KEY)
    if found is None:
        return None
    if int(str(found.values["form"])) > _FORM:
        raise Misconfigured(
            "The functions are of a newer version, whose settings on record this one can't read. Install the version"
            " that is deployed"
        )
    return SettingsOnRecord(texts=_texts(found), since=datetime.fromisoformat(str(found.values["since"])))


def record_settings(storage: Storage, texts: Mapping[str, str], *, now: datetime | None = None) -> bool:
    """Put these settings on record unless they are there already. Whether the row was written.

    Where other processes write at the same time, the last one wins. Raises Misconfigured where the settings are larger
    than a row, and StorageUnavailable.
    """
    if not texts:
        raise ValueError("settings without a catalog hold nothing to record")
    encoded = msgspec.json.encode(dict(sorted(texts.items())))
    digest = digest_of(encoded)

    def change(found: Row | None) -> Row:
        return found if found and found.values.get("digest") == digest else _row(encoded, digest, now)

    try:
        return compare_and_swap(
            storage, RowAddress(CONTROL, *_KEY), change, decode=lambda row: row, encode=lambda row: row
        ).changed
    except WriteConflict:
        return False  # others keep writing theirs: the sweeper looks again within a minute


def _row(encoded: bytes, digest: str, since: datetime | None) -> Row:
    packed = gzip.compress(encoded, mtime=0)
    cells = [packed[start : start + _CELL] for start in range(0, len(packed), _CELL)]
    if len(cells) > _MOST_CELLS:
        raise Misconfigured(
            f"The settings take {len(packed):,} bytes, and a row of storage {_CELL * _MOST_CELLS:,} at most: make the"
            " file of names (THROUGHLINE_NAMES) smaller"
        )
    return Row(
        partition=_KEY[0],
        key=_KEY[1],
        values={
            "form": _FORM,
            "digest": digest,
            "since": (since or datetime.now(UTC)).astimezone(UTC).isoformat(),
            "cells": len(cells),
            **{f"texts{number}": cell for number, cell in enumerate(cells)},
        },
    )


_decode = msgspec.json.Decoder(dict[str, str]).decode


def _texts(row: Row) -> dict[str, str]:
    cells = [row.values[f"texts{number}"] for number in range(int(str(row.values["cells"])))]
    return _decode(gzip.decompress(b"".join(cell for cell in cells if isinstance(cell, bytes))))
