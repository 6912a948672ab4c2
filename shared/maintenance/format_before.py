"""The storage format before this one: events without their application in the names of blobs, files of the archive
without an index, and tables that are not read.

Conversion gives each event the name that it has now, and unpacks such files: their events are archived again once
their runs are closed. Each step may be repeated. The rows that are made from events are left to a replay of everything.
"""

import gzip
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from shared.errors import Refused
from shared.events.archive_format import DAMAGED
from shared.events.archive_index import all_lines, index_of, is_index
from shared.events.dead_letters import dead_letters
from shared.openlineage.decoding import decode
from shared.reading.progress import Progress, counted, no_progress
from shared.records.format_version import stored_versions
from shared.storage.port import Storage
from shared.storage_layout import (
    ARCHIVE,
    CHECKPOINT,
    CONTROL,
    DEAD_LETTERS,
    EVENTS,
    IGNORED,
    PUBLISH_QUEUE,
    QUEUE_PARTITION,
    StoredEvent,
    moment,
    stored,
)

_LAYOUT = 2
_BLOB = re.compile(
    r"\d{4}/\d\d/\d\d/\d\d/(?P<run>[0-9a-f-]{36})/(?P<time>\d{8}T\d{12}Z)_(?P<type>[A-Z]+)_(?P<digest>[0-9a-f]{32})"
    r"\.json\.gz"
)
_ROWS = ((PUBLISH_QUEUE, QUEUE_PARTITION), (CONTROL, CHECKPOINT), (CONTROL, "retry"), (CONTROL, "archive"))
"""Rows of tables that go on, whose keys or cells mean something else now."""


def is_of_before(storage: Storage) -> bool:
    """Whether the stored data has the format before."""
    versions = stored_versions(storage)
    return versions is not None and versions.layout == _LAYOUT


def convert(storage: Storage, progress: Progress = no_progress) -> Iterator[str]:
    """Convert what has the format before, and yield the name of each blob and file once it is converted. Raises
    ArchiveMissing for a damaged file.
    """
    if is_of_before(storage):
        for table, partition in _ROWS:
            for row in list(storage.partition(table, partition)):
                storage.delete(table, partition, row.key)
    letters = {letter.blob: letter for letter in dead_letters(storage)}
    for fact in counted(progress, "events", storage.blobs(EVENTS)):
        if _BLOB.fullmatch(fact.name) and (packed := storage.get(EVENTS, fact.name)) is not None:
            name = _name_now(fact.name, packed)
            storage.put_new(EVENTS, name, packed)
            if fact.name in letters:
                storage.replace(DEAD_LETTERS, replace(letters[fact.name], blob=name).row())
            storage.delete_blob(EVENTS, fact.name)
            yield fact.name
    names = [fact.name for fact in storage.blobs(ARCHIVE)]
    indexes = {name for name in names if is_index(name)}
    for file in counted(progress, "files of the archive", names):
        if file not in indexes and index_of(file) not in indexes:
            for line in all_lines(storage, file):
                packed = line.packed if line.event is None else gzip.compress(line.event.encode(), mtime=0)
                container = IGNORED if line.ignored else EVENTS
                storage.put_new(container, _name_now(line.blob, packed or b""), packed or b"")
            storage.delete_blob(ARCHIVE, file)
            yield file


def _name_now(name: str, packed: bytes) -> str:
    """The name that an event's blob has now, by the one before and its gzip."""
    parts = _BLOB.fullmatch(name)
    if not parts:
        return name
    application = parts["run"]
    with suppress(Refused, *DAMAGED):
        application = stored(decode(gzip.decompress(packed)), parts["digest"]).application
    return StoredEvent(
        application=application,
        run_id=parts["run"],
        time=moment(parts["time"]),
        type=parts["type"],
        digest=parts["digest"],
    ).blob
