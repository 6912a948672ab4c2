"""Bytes in, an event out: strict about what identifies an event, tolerant of everything it carries."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

import msgspec

from shared.errors import Unreadable
from shared.openlineage.wire import (
    Dataset,
    DatasetFacets,
    Envelope,
    EventType,
    JobFacets,
    RunEvent,
    RunFacets,
)

ENDS = frozenset({"COMPLETE", "FAIL", "ABORT"})
"""The event types that can end a run."""

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_PATH = re.compile(r" - at `\$\.?([^`]*)`$")
_MISSING = re.compile(r"missing required field `([^`]*)`")
_UNREAD = "[...]"
"""What msgspec calls a place inside a value that it passes over."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_EARLIEST, _LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(3000, 1, 1, tzinfo=UTC)
"""Days are added to event times and taken away from them: beyond these nothing is a time of a run."""

_decode_run_event = msgspec.json.Decoder(RunEvent).decode
_decode_envelope = msgspec.json.Decoder(Envelope).decode
_decode_anything = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One OpenLineage event, checked.

    `run_id` is in lower case and empty for job and data set events (`body` is then None); `time` is in UTC;
    `omitted` says which parts had to be left out because they were not as the specification has them.
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
    """One event from the bytes of one JSON object.

    Raises Unreadable, naming the field, when the bytes are no JSON or when what identifies the event (class, run, job,
    time, type) is missing or of the wrong type. Broken data sets and facets are left out and listed in `omitted`.
    """
    omitted: tuple[str, ...] = ()
    try:
        body = _decode_run_event(raw)
    except msgspec.ValidationError:
        envelope = _guard(partial(_decode_envelope, raw))
        if envelope.run is None and (envelope.job or envelope.dataset):
            return Event(run_id="", time=_time(envelope.event_time), type="OTHER", body=None)
        body, omitted = _salvage(_guard(partial(_decode_anything, raw)))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        body = _guard(partial(_decode_run_event, raw))
    if not _UUID.fullmatch(body.run.run_id):
        raise Unreadable("A run's id must be a UUID", field="run.runId")
    for value, path in ((body.job.namespace, "job.namespace"), (body.job.name, "job.name")):
        if _CONTROL.search(value):
            raise Unreadable("Control characters are not allowed here", field=path)
    if body.run.facets and body.run.facets.parent and not _UUID.fullmatch(body.run.facets.parent.run.run_id):
        facets = msgspec.structs.replace(body.run.facets, parent=None)
        body = msgspec.structs.replace(body, run=msgspec.structs.replace(body.run, facets=facets))
        omitted = (*omitted, "run.facets.parent")
    return Event(
        run_id=body.run.run_id.lower(),
        time=_time(body.event_time),
        type=body.event_type or "OTHER",
        body=body,
        omitted=omitted,
    )


T = TypeVar("T")


def _guard(attempt: Callable[[], T]) -> T:
    """What `attempt` returns, its decoding errors told as the sender needs them."""
    try:
        return attempt()
    except msgspec.ValidationError as error:
        text = str(error)
        steps = [step[1] for step in (_PATH.search(text), _MISSING.search(text)) if step and _UNREAD not in step[1]]
        raise Unreadable(_PATH.sub("", text), field=".".join(steps) or None) from error
    except UnicodeDecodeError as error:
        raise Unreadable("The body is not UTF-8") from error
    except msgspec.DecodeError as error:
        raise Unreadable(f"The body is not JSON: {error}") from error
    except RecursionError as error:
        raise Unreadable("The JSON is nested too deeply") from error


def _time(text: str) -> datetime:
    """An RFC 3339 time in UTC; one without an offset is taken as UTC."""
    try:
        moment = datetime.fromisoformat(text.upper())
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise Unreadable(f"Not a time as RFC 3339 has it: {text[:40]!r}", field="eventTime") from error
    if not _EARLIEST <= moment < _LATEST:
        raise Unreadable(f"No run has such a time: {text[:40]!r}", field="eventTime")
    return moment


def _salvage(value: dict[str, Any]) -> tuple[RunEvent, tuple[str, ...]]:
    """A run event whose parts do not all fit: the good parts, and the paths of what was left out.

    Raises Unreadable when the bad part is one that identifies the event.
    """
    omitted: list[str] = []

    def facets(holder: Any, kind: type[RunFacets | JobFacets | DatasetFacets], path: str) -> dict[str, Any]:
        found = holder.get("facets") if isinstance(holder, dict) else None
        return {"facets": _fitting_facets(found, kind, f"{path}.facets", omitted)} if found is not None else {}

    def datasets(key: str) -> Iterator[Dataset]:
        found = value.get(key)
        if not isinstance(found, list):
            if found is not None:
                omitted.append(key)
            return
        for index, item in enumerate(found):
            path = f"{key}[{index}]"
            try:
                whole = {**item, **facets(item, DatasetFacets, path)} if isinstance(item, dict) else item
                yield msgspec.convert(whole, Dataset)
            except msgspec.ValidationError:
                omitted.append(path)

    kinds: tuple[tuple[str, type[RunFacets | JobFacets]], ...] = (("run", RunFacets), ("job", JobFacets))
    holders = {
        key: {**value[key], **facets(value[key], kind, key)} for key, kind in kinds if isinstance(value.get(key), dict)
    }
    whole = {**value, **holders, "inputs": None, "outputs": None}
    body = _guard(partial(msgspec.convert, whole, RunEvent))
    body = msgspec.structs.replace(body, inputs=tuple(datasets("inputs")), outputs=tuple(datasets("outputs")))
    return body, tuple(omitted)


def _fitting_facets(found: Any, kind: type, path: str, omitted: list[str]) -> dict[str, Any]:
    """Those facets of `found` that fit `kind`, tried one by one."""
    if not isinstance(found, dict):
        omitted.append(path)
        return {}
    fitting = {}
    for known in msgspec.structs.fields(kind):
        name = known.encode_name
        if name not in found:
            continue
        try:
            msgspec.convert({name: found[name]}, kind)
        except msgspec.ValidationError:
            omitted.append(f"{path}.{name}")
        else:
            fitting[name] = found[name]
    return fitting
