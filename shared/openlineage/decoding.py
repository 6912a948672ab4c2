"""Bytes in, an event out: strict about what identifies an event, tolerant of everything it carries.

A well-formed run event is read in one pass, and what nobody uses is not built. All else goes the slow way, whose cost
is a fixed number of passes: `mending` for what some writers of JSON get wrong, `salvage` for parts of a wrong shape.
"""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import TypeVar
from uuid import NAMESPACE_URL, uuid5

import msgspec

from shared.errors import TooLarge, Unreadable
from shared.openlineage.bounds import DATASETS, is_crowded
from shared.openlineage.json_repair import repaired
from shared.openlineage.salvage import Declared, Salvaged, salvage
from shared.openlineage.wire import Envelope, EventType, JobEvent, Run, RunEvent

ENDS = frozenset({"COMPLETE", "FAIL", "ABORT"})
"""The event types that can end a run."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_PATH = re.compile(r" - at `\$\.?([^`]*)`$")
_MISSING = re.compile(r"missing required field `([^`]*)`")
_UNREAD = "[...]"
"""What msgspec calls a place inside a value that it passes over."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_EARLIEST, _LATEST = 1970, 3000
"""Years. Days are added to event times and taken away from them: beyond these nothing is a time of a run."""

_MOST = DATASETS.most

_decode_run_event = msgspec.json.Decoder(RunEvent).decode
_decode_envelope = msgspec.json.Decoder(Envelope).decode


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One OpenLineage event, checked. A struct that the garbage collector passes over, for a run may have many of them.

    `run_id` is in lower case; `time` is in UTC; `omitted` says which parts had to be left out because they were not
    as the specification has them. A job event that names data sets is taken as a run that ended then; other job events,
    and data set events, tell of no run: their `run_id` is empty and `body` is None.
    """

    run_id: str
    time: datetime
    type: EventType
    body: RunEvent | None
    omitted: tuple[str, ...] = ()

    @property
    def can_end_a_run(self) -> bool:
        """Whether a run may be over with this event."""
        return self.type in ENDS


def decode(raw: bytes) -> Event:
    """One event from the bytes of one JSON object (RFC 8259; a byte order mark is passed over).

    Raises Unreadable, naming the field, when the bytes are no JSON or when what identifies the event (class, run, job,
    time, type) is missing or of the wrong type; TooLarge when it names more data sets than any run has. Data sets and
    facets that are broken or beyond the bounds are left out and listed in `omitted`.
    """
    raw = raw.removeprefix(_BYTE_ORDER_MARK)
    try:
        body = None if is_crowded(raw) else _decode_run_event(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        body = None
    if body is None:
        found = _the_slow_way(raw)
        if not isinstance(found.said, RunEvent):
            return _declaration(found.said, found.omitted)
        return _run_event(found.said, found.omitted)
    return _run_event(body, ())


def _run_event(body: RunEvent, omitted: tuple[str, ...]) -> Event:
    run, job = body.run, body.job
    if not _is_uuid(run.run_id):
        raise Unreadable("A run's id must be a UUID", field="run.runId")
    if not (job.namespace.isprintable() and job.name.isprintable()):
        _check_name(job.namespace, "job.namespace")
        _check_name(job.name, "job.name")
    if len(body.inputs or ()) > _MOST or len(body.outputs or ()) > _MOST:
        raise TooLarge(f"An event may name {_MOST:,} inputs and as many outputs; this one names more")
    facets = run.facets
    if facets and facets.parent and not _is_uuid(facets.parent.run.run_id):
        orphan = msgspec.structs.replace(run, facets=msgspec.structs.replace(facets, parent=None))
        body = msgspec.structs.replace(body, run=orphan)
        omitted = (*omitted, "run.facets.parent")
    return Event(
        run_id=run.run_id.lower(),
        time=_time(body.event_time),
        type=body.event_type or "OTHER",
        body=body,
        omitted=omitted,
    )


def _is_uuid(text: str) -> bool:
    return len(text) == _LENGTH_OF_UUID and _looks_like_uuid(text)


_LENGTH_OF_UUID = 36


@lru_cache(maxsize=4096)
def _looks_like_uuid(text: str) -> bool:
    """Remembered: each stands in several events of a run, an application's in all of its runs."""
    return _UUID.fullmatch(text) is not None


def _declaration(said: Declared, omitted: tuple[str, ...]) -> Event:
    """A job that declares what it reads and writes is taken as a run of it that ended then: the same words are the same
    run, and later words replace earlier ones. What is said of a data set alone is no lineage.
    """
    if isinstance(said, JobEvent) and (said.inputs or said.outputs):
        stands_for = f"{said.job.namespace}\n{said.job.name}\n{_time(said.event_time).isoformat()}"
        body = RunEvent(
            event_time=said.event_time,
            event_type="COMPLETE",
            run=Run(run_id=str(uuid5(NAMESPACE_URL, stands_for))),
            job=said.job,
            inputs=said.inputs,
            outputs=said.outputs,
        )
        return _run_event(body, omitted)
    return Event(run_id="", time=_time(said.event_time), type="OTHER", body=None, omitted=omitted)


def _check_name(name: str, field: str) -> None:
    if _CONTROL.search(name):
        raise Unreadable("Control characters are not allowed here", field=field)


def _the_slow_way(raw: bytes) -> Salvaged:
    """What can be used of bytes that are no run event at first sight. Raises Unreadable."""
    try:
        envelope = _guard(_decode_envelope, raw)
    except Unreadable:
        better = repaired(raw)
        if better is None:
            raise
        raw, envelope = better, _guard(_decode_envelope, better)
    if envelope.run is None and envelope.job is None and envelope.dataset is None:
        raise Unreadable("Neither a run, nor a job, nor a data set", field="run")
    if envelope.run is not None and envelope.job is None:
        raise Unreadable("Object missing required field `job`", field="job")
    return salvage(raw, envelope)


T = TypeVar("T")


def _guard(read: Callable[[bytes], T], raw: bytes) -> T:
    """What `read` makes of the bytes, its errors told as the sender needs them."""
    try:
        return read(raw)
    except msgspec.ValidationError as error:
        text = str(error)
        steps = [step[1] for step in (_PATH.search(text), _MISSING.search(text)) if step and _UNREAD not in step[1]]
        raise Unreadable(_PATH.sub("", text), field=".".join(steps) or None) from error
    except UnicodeDecodeError as error:
        raise Unreadable("The body is not UTF-8") from error
    except msgspec.DecodeError as error:
        looks_like = json.detect_encoding(raw[:4])
        if looks_like != "utf-8":
            raise Unreadable(f"The body is not JSON in UTF-8: it looks like {looks_like.upper()}") from error
        raise Unreadable(f"The body is not JSON: {error}") from error
    except RecursionError as error:
        raise Unreadable("The JSON is nested too deeply") from error


def _time(text: str) -> datetime:
    """An RFC 3339 time in UTC; one without an offset is taken as UTC."""
    try:
        moment = datetime.fromisoformat(text.upper())
        if moment.tzinfo is not UTC:
            moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise Unreadable(f"Not a time as RFC 3339 has it: {text[:40]!r}", field="eventTime") from error
    if not _EARLIEST <= moment.year < _LATEST:
        raise Unreadable(f"No run has such a time: {text[:40]!r}", field="eventTime")
    return moment
