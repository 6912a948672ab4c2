"""Receiving: validate, select, store. An event is answered with a 2xx only after it is safely stored."""

import codecs
import gzip
import logging
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from shared.errors import Refused, StorageUnavailable, TooLarge, Unreadable
from shared.events.event_row import EventRow
from shared.ingest.batch_events import events_of
from shared.ingest.body_limits import turn_for
from shared.ingest.excluded_writes import note_excluded_writes
from shared.openlineage.decoding import Event, decode
from shared.openlineage.selection import BY_SETTINGS, DEFAULT_SELECTION, EventFilter, Ignore, select
from shared.secrets import short_text, text_without_secrets
from shared.storage.port import Row, Storage
from shared.storage_layout import (
    APPLICATIONS,
    EVENTS,
    IGNORED,
    LONGEST_JOB_NAME,
    REFUSED,
    digest_of,
    ignored_blob,
    stamp,
    stored,
)
from shared.telemetry.kinds import BATCH, EVENT, ActKind
from shared.telemetry.port import SILENT, Act, Telemetry

_LOG = logging.getLogger("throughline.receive")

Redact = Callable[[Event], bytes]
"""Returns the bytes to store in place of the received ones: `shared/redaction.py`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became of an event that was accepted: `ignored` says why it is not needed, if it is not; `omitted` which
    parts of it can't be used.
    """

    run_id: str
    digest: str
    ignored: str | None = None
    omitted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """An event of a batch that was not kept: its place in the array, why, and whether sending it again may help."""

    index: int
    reason: str
    retriable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchReceipt:
    """What became of a batch."""

    received: int
    failed: tuple[Failed, ...]

    @property
    def document(self) -> dict[str, Any]:
        """As the OpenLineage specification answers `POST /lineage/batch`."""
        retriable = sum(each.retriable for each in self.failed)
        kept = self.received - len(self.failed)
        return {
            "status": "success" if not self.failed else "partial_success" if kept else "failure",
            "summary": {
                "received": self.received,
                "successful": kept,
                "failed": len(self.failed),
                "retriable": retriable,
                "non_retriable": len(self.failed) - retriable,
            },
            "failed_events": [
                {"index": each.index, "reason": each.reason, "retriable": each.retriable} for each in self.failed
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """An event as it will be stored, and the receipt. The received bytes are no longer needed."""

    receipt: Receipt
    event: Event
    packed: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Receiver:
    """Stores events as they were sent. `max_body_bytes` bounds a body before and after unpacking; `selection` decides
    which events are kept; `redact` changes the stored bytes; `origin` names this installation; `now` is the clock.
    """

    storage: Storage
    max_body_bytes: int
    selection: EventFilter = DEFAULT_SELECTION
    origin: str = ""
    redact: Redact | None = None
    telemetry: Telemetry = SILENT
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def receive(self, body: bytes, *, encoding: str = "") -> Receipt:
        """Store one event. Idempotent: the same bytes always get the same name. `encoding`: the request's
        Content-Encoding.

        Raises Refused where the sender must mend the request, and StorageUnavailable where it should send it again.
        """
        with _receiving(self.telemetry, EVENT, len(body)) as act:
            with turn_for(body, encoding):
                prepared = self._prepared(_unpacked(body, encoding, self.max_body_bytes), act)
            return _keep(self.storage, prepared, self.now())

    def receive_batch(self, body: bytes, *, encoding: str = "") -> BatchReceipt:
        """Store the events of a JSON array, each as `receive` stores one, in the bytes in which it was sent.

        A bad event does not affect the others. Where storage does not answer, the rest fails as retriable. Raises
        Refused for a body that is no array, or has more events than allowed.
        """
        with _receiving(self.telemetry, BATCH, len(body)) as act:
            with turn_for(body, encoding):
                events = events_of(_unpacked(body, encoding, self.max_body_bytes))
            failed = self._keep_all(events)
            act.note(failed=len(failed))
            return BatchReceipt(received=len(events), failed=tuple(failed))

    def _keep_all(self, events: list[bytes]) -> list[Failed]:
        failed: list[Failed] = []
        for index, event in enumerate(events):
            try:
                with _receiving(self.telemetry, EVENT, len(event)) as act:
                    with turn_for(event):
                        prepared = self._prepared(event, act)
                    _keep(self.storage, prepared, self.now())
            except Refused as refusal:
                failed.append(Failed(index=index, reason=text_without_secrets(str(refusal)), retriable=False))
            except StorageUnavailable as error:
                failed += [Failed(index=each, reason=str(error), retriable=True) for each in range(index, len(events))]
                break
        return failed

    def _prepared(self, raw: bytes, act: Act) -> _Prepared:
        event = decode(raw)
        decision = select(event, self.selection)
        act.concern(event.run_id)
        act.note(type=event.type, job=event.body.job.name[:LONGEST_JOB_NAME] if event.body else "")
        if isinstance(decision, Ignore):
            act.note(state="ignored", reason=decision.reason)
        stored_bytes = self.redact(event) if self.redact else raw
        receipt = Receipt(
            run_id=event.run_id,
            digest=digest_of(stored_bytes),
            ignored=decision.reason if isinstance(decision, Ignore) else None,
            omitted=event.omitted,
        )
        packed = gzip.compress(stored_bytes, compresslevel=6, mtime=0)
        return _Prepared(receipt=receipt, event=event, packed=packed)


@contextmanager
def _receiving(telemetry: Telemetry, kind: ActKind, size: int) -> Iterator[Act]:
    """An act for an event or a batch of so many bytes; its state says whether it was kept, refused or not stored."""
    with telemetry.act(kind) as act:
        act.note(state="kept", bytes=size)
        try:
            yield act
        except Refused as refusal:
            act.note(state="refused", status=refusal.status, reason=str(refusal))
            raise
        except StorageUnavailable as error:
            act.note(state="unavailable", reason=str(error))
            raise


def _keep(storage: Storage, prepared: _Prepared, now: datetime) -> Receipt:
    receipt, event = prepared.receipt, prepared.event
    if receipt.ignored:
        if receipt.ignored in BY_SETTINGS:
            note_excluded_writes(storage, event)
        storage.put_new(IGNORED, ignored_blob(event, receipt.digest, receipt.ignored), prepared.packed)
        return receipt
    stored_event = stored(event, receipt.digest)
    storage.put_new(EVENTS, stored_event.blob, prepared.packed)  # first: a row says that the event is stored
    row = EventRow(
        event=stored_event,
        payload=prepared.packed,
        job=text_without_secrets(event.body.job.name[:LONGEST_JOB_NAME]) if event.body else "",
        sender=short_text(event.body.job.namespace) if event.body else "",
        run_text=text_without_secrets(event.run_text[:LONGEST_JOB_NAME]),
        omitted=receipt.omitted,
        received=now,
    )
    storage.insert(APPLICATIONS, row.row(stored_event.application))
    return receipt


def note_refusal(storage: Storage, body: bytes, refusal: Refused) -> str:
    """Record a refused request: size, digest and error, never the body. Returns the error without secrets, for logs;
    the answer to the sender says more.
    """
    now = datetime.now(UTC)
    why = text_without_secrets(str(refusal)[:LONGEST_JOB_NAME])
    row = Row(
        partition=f"{now:%Y-%m-%d}",
        key=f"{stamp(now)}|{digest_of(body)}",
        values={
            "status": refusal.status,
            "error": why,
            "bytes": len(body),
        },
    )
    try:
        storage.upsert(REFUSED, row)
    except StorageUnavailable as error:
        _LOG.warning("a refusal was answered but could not be counted: %s", error)
    return why


def _unpacked(body: bytes, encoding: str, most_bytes: int) -> bytes:
    if len(body) > most_bytes:
        raise TooLarge(f"An event may have {most_bytes:,} bytes; this one has {len(body):,}")
    if not body:
        raise Unreadable(
            "The body is empty. Azure Functions drops chunked bodies: leave the listener's transport.compression unset"
        )
    kind = encoding.strip().lower()
    if kind in {"", "identity"}:
        raw = body
    elif kind == "gzip":
        raw = _gunzipped(body, most_bytes)
    else:
        raise Refused(f"Content-Encoding {encoding[:40]!r} is not known: send plain or gzip", status=415)
    _check_utf8(raw)
    return raw


_SLICE = 1 << 20


def _check_utf8(raw: bytes) -> None:
    """In slices: as one string, a large body with a single emoji would take four bytes a character."""
    check = codecs.getincrementaldecoder("utf-8")().decode
    try:
        for start in range(0, len(raw), _SLICE):
            check(raw[start : start + _SLICE])
        check(b"", final=True)
    except UnicodeDecodeError as error:
        raise Unreadable("The body is not UTF-8") from error


def _gunzipped(body: bytes, most_bytes: int) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        raw = unpacker.decompress(body, most_bytes + 1)
    except zlib.error as error:
        raise Unreadable("The body says it is gzip but is not") from error
    if len(raw) > most_bytes:
        raise TooLarge(f"An event may have {most_bytes:,} bytes; this one unpacks to more")
    if not unpacker.eof:
        raise Unreadable("The gzip body is cut off")
    if unpacker.unused_data:
        raise Unreadable("Something follows the gzip body's end")
    return raw
