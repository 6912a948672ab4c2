"""Receiving: validate, select, store. An event is answered with a 2xx only after it is safely stored."""

import codecs
import gzip
import logging
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from shared.errors import Refused, StorageUnavailable, TooLarge, Unreadable
from shared.openlineage import DEFAULT_SELECTION, Ignore, Selection, decode, select
from shared.pipeline.places import EVENTS, IGNORED, REFUSED, RUNS, digest_of, ignored_blob, stamp, stored
from shared.pipeline.telling import told
from shared.storage import Row, Storage, Value
from shared.telemetry import BATCH, EVENT, SILENT, Act, Telemetry

_LOG = logging.getLogger("throughline.receive")
_LONGEST_JOB_NAME = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became of an event that was accepted: `ignored` says why it is not needed, if it is not."""

    run_id: str
    event_type: str
    digest: str
    ignored: str | None = None


def receive(
    storage: Storage,
    body: bytes,
    *,
    encoding: str = "",
    most_bytes: int,
    selection: Selection = DEFAULT_SELECTION,
    telemetry: Telemetry = SILENT,
) -> Receipt:
    """Store one event as it was sent. Doing so again with the same bytes changes nothing.

    `encoding` is the request's Content-Encoding; `most_bytes` bounds the body before and after unpacking; `selection`
    is what the settings say of operations. Raises Refused when the sender must mend something and StorageUnavailable
    when it should come again.
    """
    with told(telemetry, EVENT, len(body)) as act:
        return _keep(storage, _unpacked(body, encoding, most_bytes), selection, act)


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


_MOST_EVENTS = 1000
_decode_array = msgspec.json.Decoder(list[msgspec.Raw]).decode


def receive_batch(
    storage: Storage,
    body: bytes,
    *,
    encoding: str = "",
    most_bytes: int,
    selection: Selection = DEFAULT_SELECTION,
    telemetry: Telemetry = SILENT,
) -> BatchReceipt:
    """Store the events of a JSON array, each as `receive` stores one, in the bytes in which it was sent.

    One bad event costs no other. When storage is away, the rest is told to come again. Raises Refused for what is no
    array, or too long a one.
    """
    with told(telemetry, BATCH, len(body)) as act:
        events = _separated(_unpacked(body, encoding, most_bytes))
        failed = _keep_all(storage, events, selection, telemetry)
        act.note(failed=len(failed))
        return BatchReceipt(received=len(events), failed=tuple(failed))


def _separated(raw: bytes) -> list[msgspec.Raw]:
    try:
        events = _decode_array(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Unreadable(f"A batch is a JSON array of events: {error}") from error
    if len(events) > _MOST_EVENTS:
        raise TooLarge(f"A batch may have {_MOST_EVENTS} events; this one has {len(events)}")
    return events


def _keep_all(storage: Storage, events: list[msgspec.Raw], selection: Selection, telemetry: Telemetry) -> list[Failed]:
    failed: list[Failed] = []
    for index, event in enumerate(map(bytes, events)):
        try:
            with told(telemetry, EVENT, len(event)) as act:
                _keep(storage, event, selection, act)
        except Refused as refusal:
            failed.append(Failed(index=index, reason=str(refusal), retriable=False))
        except StorageUnavailable as error:
            failed += [Failed(index=each, reason=str(error), retriable=True) for each in range(index, len(events))]
            break
    return failed


def _keep(storage: Storage, raw: bytes, selection: Selection, act: Act) -> Receipt:
    event = decode(raw)
    job = event.body.job.name[:_LONGEST_JOB_NAME] if event.body else ""
    act.concern(event.run_id)
    act.note(type=event.type, job=job)
    digest = digest_of(raw)
    decision = select(event, selection)
    packed = gzip.compress(raw, compresslevel=6, mtime=0)
    if isinstance(decision, Ignore):
        act.note(state="ignored", reason=decision.reason)
        storage.put_new(IGNORED, ignored_blob(event, digest, decision.reason), packed)
        return Receipt(run_id=event.run_id, event_type=event.type, digest=digest, ignored=decision.reason)
    place = stored(event, digest)
    values: dict[str, Value] = {"job": job, "bytes": len(raw), "received": datetime.now(UTC).isoformat()}
    storage.insert(RUNS, Row(partition=place.run_id, key=place.row_key, values=values))
    storage.put_new(EVENTS, place.blob, packed)
    return Receipt(run_id=event.run_id, event_type=event.type, digest=digest)


def note_refusal(storage: Storage, body: bytes, refusal: Refused) -> None:
    """Count a refused body: its size, digest and what was wrong, never the body itself."""
    now = datetime.now(UTC)
    row = Row(
        partition=f"{now:%Y-%m-%d}",
        key=f"{stamp(now)}|{digest_of(body)}",
        values={"status": refusal.status, "error": str(refusal)[:_LONGEST_JOB_NAME], "bytes": len(body)},
    )
    try:
        storage.upsert(REFUSED, row)
    except StorageUnavailable as error:
        _LOG.warning("a refusal was answered but could not be counted: %s", error)


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
    """Bit by bit: as one text, a large body with a single emoji in it would take four bytes a character."""
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
