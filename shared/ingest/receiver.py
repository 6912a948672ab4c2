"""Receiving: validate, select, store, answer. An event is answered with a 2xx only after it is safely stored.

The answers to senders: one place for both paths.

    kept, ignored            201
    forwarded by ourselves   508
    the sender's fault       4xx, as application/problem+json (RFC 9457), with the field where it is known
    storage pushes back      429 and Retry-After
    storage is away          503 and Retry-After

A Java listener retries a 429 or 503 once, if the wait is shorter than its own five seconds, and then drops the event.
So only these two errors have such an answer, with a short wait.

What ignored jobs write: a row for each data set, so that nobody takes it for a source of which all is known.

Only events that the settings ignore count (`BY_SETTINGS`): those of the built-in rules can have no lineage.
"""

import codecs
import gzip
import json
import logging
import random
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from shared.errors import Refused, StorageBusy, StorageUnavailable, TooLarge, Unreadable
from shared.ingest.bodies import events_of, turn_for
from shared.openlineage.decoding import Event, decode
from shared.openlineage.selection import BY_SETTINGS, DEFAULT_SELECTION, NO_WRITE, EventFilter, Ignore, select
from shared.secrets import short_text, text_without_secrets, without_secrets
from shared.storage.port import Row, Storage, upsert_all
from shared.storage_layout import (
    APPLICATIONS,
    EVENTS,
    EXCLUDED,
    EXCLUDED_WRITE,
    IGNORED,
    LONGEST_JOB_NAME,
    REFUSED,
    EventRow,
    digest_of,
    ignored_blob,
    stamp,
    stored,
)
from shared.telemetry.port import BATCH, EVENT, SILENT, Act, ActKind, Telemetry

_MAX_TABLES = 4000
"""Characters."""


def note_excluded_writes(storage: Storage, event: Event) -> None:
    """Write the rows of an ignored event's outputs, none if it does not say that they were written. Raises
    StorageUnavailable.
    """
    rows: dict[str, Row] = {}
    for output in (event.body.outputs or ()) if event.body and event.type not in NO_WRITE else ():
        namespace, name = without_secrets(output.namespace, output.name)
        symlinks = output.facets.symlinks.identifiers if output.facets and output.facets.symlinks else None
        tables = "\n".join(sorted({link.name for link in symlinks or ()}))[:_MAX_TABLES]
        values = {"namespace": namespace, "name": name, "tables": tables, "last": event.time.isoformat()}
        key = digest_of(f"{namespace}\n{name}".encode())
        rows[key] = Row(partition=EXCLUDED_WRITE, key=key, values=values)
    upsert_all(storage, EXCLUDED, rows.values())


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
        retriable = sum(failure.retriable for failure in self.failed)
        number_kept = self.received - len(self.failed)
        return {
            "status": "success" if not self.failed else "partial_success" if number_kept else "failure",
            "summary": {
                "received": self.received,
                "successful": number_kept,
                "failed": len(self.failed),
                "retriable": retriable,
                "non_retriable": len(self.failed) - retriable,
            },
            "failed_events": list(map(asdict, self.failed)),
        }


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
                receipt, event, packed = self._prepared(_unpacked(body, encoding, self.max_body_bytes), act)
            self._keep(receipt, event, packed)
            return receipt

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
                self.receive(event)
            except Refused as refusal:
                failed.append(Failed(index=index, reason=text_without_secrets(str(refusal)), retriable=False))
            except StorageUnavailable as error:
                failed += [
                    Failed(index=position, reason=str(error), retriable=True) for position in range(index, len(events))
                ]
                break
        return failed

    def _prepared(self, raw: bytes, act: Act) -> tuple[Receipt, Event, bytes]:
        """The receipt of an event, and the event as it will be stored: the received bytes are no longer needed."""
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
        return receipt, event, gzip.compress(stored_bytes, compresslevel=6, mtime=0)

    def _keep(self, receipt: Receipt, event: Event, packed: bytes) -> None:
        storage = self.storage
        if receipt.ignored:
            if receipt.ignored in BY_SETTINGS:
                note_excluded_writes(storage, event)
            storage.put_new(IGNORED, ignored_blob(event, receipt.digest, receipt.ignored), packed)
            return
        stored_event = stored(event, receipt.digest)
        storage.put_new(EVENTS, stored_event.blob, packed)  # first: a row says that the event is stored
        row = EventRow(
            event=stored_event,
            payload=packed,
            job=text_without_secrets(event.body.job.name[:LONGEST_JOB_NAME]) if event.body else "",
            sender=short_text(event.body.job.namespace) if event.body else "",
            run_text=text_without_secrets(event.run_text[:LONGEST_JOB_NAME]),
            omitted=receipt.omitted,
            received=self.now(),
        )
        storage.insert(APPLICATIONS, row.row(stored_event.application))


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


def note_refusal(storage: Storage, body: bytes, refusal: Refused) -> str:
    """Record a refused request: size, digest and error, never the body. Returns the error without secrets, for logs;
    the answer to the sender says more.
    """
    now = datetime.now(UTC)
    reason = text_without_secrets(str(refusal)[:LONGEST_JOB_NAME])
    row = Row(
        partition=f"{now:%Y-%m-%d}",
        key=f"{stamp(now)}|{digest_of(body)}",
        values={
            "status": refusal.status,
            "error": reason,
            "bytes": len(body),
        },
    )
    try:
        storage.upsert(REFUSED, row)
    except StorageUnavailable as error:
        _LOG.warning("a refusal was answered but could not be counted: %s", error)
    return reason


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


_LONGEST_WAIT = 2
"""Seconds; a whole number, at random, so that senders do not retry all at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Status, body, its media type, and further headers."""

    status: int
    body: str
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


def kept(receipt: Receipt) -> Answer:
    """The event is stored, or set aside with a reason."""
    outcome = {"status": "ignored", "reason": receipt.ignored} if receipt.ignored else {"status": "kept"}
    omitted = {"omitted": receipt.omitted} if receipt.omitted else {}
    body = {**outcome, "run": receipt.run_id, "event": receipt.digest, **omitted}
    return Answer(status=201, body=json.dumps(body))


def batch_kept(receipt: BatchReceipt) -> Answer:
    """200 for every batch that was read, as the specification has it: the body says which events failed, and why."""
    return Answer(status=200, body=json.dumps(receipt.document))


def no_such_path() -> Answer:
    """Neither of the two paths that take events."""
    return _problem(404, "There is no such path", "Post an event to v1/lineage, or an array to v1/lineage/batch")


def own_event() -> Answer:
    """What this installation forwards itself: it would be stored and forwarded again, without an end."""
    return _problem(508, "This receiver is that of the sender", "Forward to another address: this one is our own")


def refused(refusal: Refused) -> Answer:
    """The sender must mend something."""
    further_members = {"field": refusal.field} if refusal.field else {}
    return _problem(refusal.status, refusal.title, refusal.detail, further_members=further_members)


def retry_later(error: StorageUnavailable) -> Answer:
    """Storage does not answer or is busy, and nothing is wrong with the event: the sender should send it again."""
    wait = {"Retry-After": str(random.randint(1, _LONGEST_WAIT))}
    if isinstance(error, StorageBusy):
        return _problem(429, "Storage is busy, send it again more slowly", str(error), headers=wait)
    return _problem(503, "Storage is away, send it again", str(error), headers=wait)


def _problem(
    status: int,
    title: str,
    detail: str,
    *,
    headers: Mapping[str, str] | None = None,
    further_members: Mapping[str, str] | None = None,
) -> Answer:
    # A listener logs the answer: it quotes no password that the event had.
    detail = text_without_secrets(detail)
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **(further_members or {})}
    return Answer(status=status, body=json.dumps(body), kind="application/problem+json", headers=headers or {})
