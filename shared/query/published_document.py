"""Publish the lineage document as blobs: for the page and the API at an address, which read nothing else.

The processes that were published since the last time have marks in the publish queue. Only these are read again; the
others come from a blob with what the last document was made of. So calls follow what changed. The first time, after an
upgrade and once a day all rows are read: failures of runs that changed no lineage leave no mark, and what a lost blob
or mark would have changed is in the document again then.

Blobs are never overwritten, since a reader may be reading them: a new document has a new name, the greatest counts, and
the one before is kept until the next. The last one of a day is kept as its difference from an earlier one, where that
is smaller.
"""

import gzip
import logging
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import msgspec
from msgspec import structs

from shared.applications.partition import read_record
from shared.classifying.attached import attached, with_classifications
from shared.errors import ContentLost
from shared.foreign import POSITION as FOREIGN_POSITION
from shared.lineage.days import difference, restored
from shared.lineage.document import FORMAT, UnreadableDocumentError, decoded, encoded
from shared.model import QualityTest
from shared.publishing.context import PublishOptions
from shared.query.recorded_document import (
    FAILURES,
    DocumentPart,
    document_of_parts,
    document_part,
    document_parts,
)
from shared.reading.processes import recorded_process
from shared.records.assets import read_assets, records_by_key
from shared.records.control import Checkpoint
from shared.records.publish_queue import Mark, clear_marks, document_marks, is_held
from shared.storage.port import Storage, session_of
from shared.storage_layout import DAILY, NEWEST, PARTS, PUBLISHED, daily_document, day_of_document, digest_of, stamp
from shared.telemetry.port import Fact

_LOG = logging.getLogger("throughline.document")
_LEASE = "document"
_SHARE = 20
"""Publishing takes at most one part in so many of the time: a document that takes long is made less often."""
_LOOK = timedelta(hours=1)
"""So often a document without marks is made again: a job may be overdue, or a classification attached."""
STALE = timedelta(minutes=15)
"""A change that no document has for so long is an alert (infra/queries/document-stale.kql)."""
_BASE = timedelta(days=30)
"""The document that those of later days are kept as differences from is not older."""
_WORTH = 2
"""A difference is kept where it takes at most one part in so many of the document."""
_LARGEST = 4 * 1024 * 1024
"""Bytes, compressed: some 35,000 data sets. To compare two documents of more would take the worker a gigabyte."""
_FORMAT = 1


class _Parts(msgspec.Struct, frozen=True, kw_only=True):
    """All of them. `document`: the format of the document that was made of them."""

    format: int
    document: int
    parts: tuple[DocumentPart, ...]


class PublishedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The newest document: its blob, that of its parts, and when its content came to be. `made`: when it was made or
    found unchanged, which took so many `seconds`; `whole`: the day when all rows were read; `foreign`: the blob of
    foreign lineage that it has.
    """

    blob: str
    parts: str
    at: datetime
    made: datetime
    seconds: float
    whole: date
    foreign: str = ""


DOCUMENT = Checkpoint(name="document", position=PublishedDocument)
_DECODER = msgspec.msgpack.Decoder(_Parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentAge:
    """When the newest document was made or found unchanged, how many processes changed since, and since when the first
    of these changes waits. `is_stale`: for longer than the next sweeps explain.
    """

    made: datetime
    waiting: int
    oldest: datetime | None
    is_stale: bool


def document_age(storage: Storage, now: datetime) -> DocumentAge | None:
    """The age of the newest document; None where none was published. Two calls. Raises StorageUnavailable."""
    newest = DOCUMENT.load(storage)
    if newest is None:
        return None
    number, oldest = _waiting(storage)
    return DocumentAge(
        made=newest.made, waiting=number, oldest=oldest, is_stale=oldest is not None and now - oldest > STALE
    )


def _waiting(storage: Storage) -> tuple[int, datetime | None]:
    """How many changes the newest document lacks, and since when it lacks the first: one query."""
    times = [mark.left for mark in document_marks(storage)]
    return len(times), min(times, default=None)


def publish_document(
    storage: Storage, options: PublishOptions, keep: timedelta, *, seconds: Callable[[], float] = time.monotonic
) -> Mapping[str, Fact]:
    """Publish the document if it has changed, unless another worker does. `keep`: how long documents of a day are kept.
    For telemetry: changes that the document lacks now, for how many seconds the first, and whether one was published.
    Raises StorageUnavailable and ContentLost; the next call continues.
    """
    with session_of(storage, _LEASE, seconds) as session:
        work = _Publication(storage=storage, options=options, keep=keep, seconds=seconds)
        is_published = session is not None and work.run(document_marks(storage))
    number, oldest = _waiting(storage)
    age = max((options.now() - oldest).total_seconds(), 0.0) if oldest else 0.0
    return {"document_waiting": number, "document_oldest": round(age, 3), "document_published": is_published}


def stored_parts(storage: Storage, blob: str) -> dict[str, DocumentPart] | None:
    """The parts of a document by key; None where these are gone, damaged or of another version."""
    compressed = storage.get(PUBLISHED, blob)
    try:
        parts = _DECODER.decode(gzip.decompress(compressed)) if compressed else None
    except (OSError, EOFError, zlib.error, msgspec.DecodeError):
        return None
    if parts is None or (parts.format, parts.document) != (_FORMAT, FORMAT):
        return None
    return {part.key: part for part in parts.parts}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Publication:
    storage: Storage
    options: PublishOptions
    keep: timedelta
    seconds: Callable[[], float]

    def run(self, marks: tuple[Mark, ...]) -> bool:
        """Whether a document was published."""
        now, newest = self.options.now(), DOCUMENT.load(self.storage)
        if newest and (now - newest.made).total_seconds() < newest.seconds * _SHARE:
            return False
        foreign = FOREIGN_POSITION.load(self.storage) if self.options.foreign_depth else None
        foreign_blob = foreign.blob if foreign else ""
        is_same = newest and newest.whole == now.date() and newest.foreign == foreign_blob
        if newest and not marks and now - newest.made < _LOOK and is_same:
            return False
        if is_held(self.storage):
            return False
        began = self.seconds()
        stored = stored_parts(self.storage, newest.parts) if newest and newest.whole == now.date() else None
        changed = {mark.target for mark in marks if not mark.asset}
        tested = {mark.asset for mark in marks if mark.asset}
        if stored is None:
            parts = tuple(document_parts(self.storage, self.options))
        else:
            parts = tuple(self._renewed(stored, changed, tested))
        document = document_of_parts(self.storage, self.options, parts, expressions=True)
        data = encoded(with_classifications(document, attached(self.storage)))
        published = self._write(newest, data, parts, now, began, foreign=foreign_blob, is_whole=stored is None)
        clear_marks(self.storage, marks)
        return published

    def _renewed(self, stored: dict[str, DocumentPart], changed: set[str], tested: set[str]) -> Iterator[DocumentPart]:
        """The stored parts, with those of changed processes, and the tests of changed data sets, as they are now."""
        tests = {record.key[1]: record.tests for record in records_by_key(self.storage, sorted(tested)) if record.tests}
        for key, part in stored.items():
            if key not in changed:
                yield _with_tests(part, tests)
        for key in sorted(changed):
            try:
                recorded = recorded_process(self.storage, self.options, key)
            except ContentLost as error:  # one damaged process keeps no other from being shown
                _LOG.warning("the document keeps what it has of process %s: %s", key, error)
                yield from filter(None, (stored.get(key),))
                continue
            if recorded:
                assets = (asset.key for asset in (*recorded.process.inputs, *recorded.process.outputs))
                failed = self._has_failed(recorded.last_application, recorded.last_supporter)
                renewed = document_part(recorded, read_assets(self.storage, assets), failed=failed)
                yield from filter(None, (renewed,))

    def _has_failed(self, application: str, run: str) -> bool:
        record = read_record(self.storage, application, run) if run else None
        return record is not None and record.ended in FAILURES

    def _write(
        self,
        newest: PublishedDocument | None,
        data: bytes,
        parts: tuple[DocumentPart, ...],
        now: datetime,
        began: float,
        *,
        foreign: str,
        is_whole: bool,
    ) -> bool:
        digest = digest_of(data)
        is_same = newest is not None and newest.blob.endswith(f"-{digest}.json.gz")
        blob = newest.blob if newest and is_same else f"{NEWEST}{stamp(now)}-{digest}.json.gz"
        name = f"{PARTS}{stamp(now)}.msgpack.gz"
        compressed = msgspec.msgpack.encode(_Parts(format=_FORMAT, document=FORMAT, parts=parts))
        self.storage.put_new(PUBLISHED, name, gzip.compress(compressed, 6, mtime=0))
        if not is_same:
            self._keep_daily(newest, now)
            self.storage.put_new(PUBLISHED, blob, gzip.compress(data, 6, mtime=0))
        position = PublishedDocument(
            blob=blob,
            parts=name,
            at=newest.at if newest and is_same else now,
            made=now,
            seconds=round(self.seconds() - began, 3),
            whole=now.date() if is_whole or newest is None else newest.whole,
            foreign=foreign,
        )
        DOCUMENT.save(self.storage, position)
        kept_blobs = {blob, name, newest.blob if newest else ""}
        for folder in (NEWEST, PARTS):
            for fact in list(self.storage.blobs(PUBLISHED, folder)):
                if fact.name not in kept_blobs:
                    self.storage.delete_blob(PUBLISHED, fact.name)
        return not is_same

    def _keep_daily(self, newest: PublishedDocument | None, now: datetime) -> None:
        """Keep the document before, if it was the last one of its day, and forget those that are too old."""
        if newest is None or newest.at.date() == now.date():
            return
        day, compressed = newest.at.date(), self.storage.get(PUBLISHED, newest.blob)
        if compressed:
            small = self._difference(day, compressed)
            self.storage.put_new(PUBLISHED, *(small or (daily_document(day), compressed)))
        names = [fact.name for fact in self.storage.blobs(PUBLISHED, DAILY)]
        days = {name: dates for name in names if (dates := day_of_document(name))}
        oldest = (now - self.keep).date()
        bases = {base for kept_day, base in days.values() if kept_day >= oldest}
        for name, (day_kept, base) in days.items():
            if day_kept < oldest and (base or day_kept not in bases):
                self.storage.delete_blob(PUBLISHED, name)

    def _difference(self, day: date, compressed: bytes) -> tuple[str, bytes] | None:
        """The name and content of the blob with the difference of a day's document; None where none is worth it."""
        names = (fact.name for fact in self.storage.blobs(PUBLISHED, DAILY))
        whole_days = [dates[0] for name in names if (dates := day_of_document(name)) and dates[1] is None]
        base = max((candidate for candidate in whole_days if candidate < day), default=None)
        if base is None or day - base > min(_BASE, self.keep) or len(compressed) > _LARGEST:
            return None
        try:
            data = gzip.decompress(compressed)
            former = decoded(gzip.decompress(self.storage.get(PUBLISHED, daily_document(base)) or b""))
            differences = difference(former, base, decoded(data))
            small = gzip.compress(differences, 6, mtime=0)
            if len(small) * _WORTH > len(compressed) or encoded(restored(former, differences)) != data:
                return None
        except (OSError, EOFError, zlib.error, UnreadableDocumentError) as error:
            _LOG.warning("the document of %s is kept whole: no difference from that of %s: %s", day, base, error)
            return None
        return daily_document(day, base), small


def _with_tests(part: DocumentPart, tests: Mapping[str, tuple[QualityTest, ...]]) -> DocumentPart:
    """A stored part with these results of quality tests, by data set, in place of those that it has of them."""
    process = part.known.process
    names = {asset.qualified_name for asset in (*process.inputs, *process.outputs)} & tests.keys()
    if not names:
        return part
    latest = {**dict(part.known.tests), **{name: tests[name] for name in names}}
    return structs.replace(part, known=structs.replace(part.known, tests=tuple(sorted(latest.items()))))
