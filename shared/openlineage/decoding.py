"""Decode an event: strict about what identifies it, tolerant of everything else.

A well-formed run event is read in one pass that builds only what `wire` names. Other bytes take a bounded number of
further passes of `salvage`, for invalid JSON of known writers and for parts of a wrong shape.
"""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import TypeVar
from uuid import NAMESPACE_URL, UUID, uuid5

import msgspec
from msgspec.structs import replace

from shared.errors import TooLarge, Unreadable
from shared.openlineage.facets import DATASET, DATASETS, NAME, is_crowded
from shared.openlineage.run_facets import Parent, RunRef
from shared.openlineage.salvage import repaired, salvage
from shared.openlineage.wire import (
    Dataset,
    DatasetEvent,
    Envelope,
    EventType,
    Job,
    JobEvent,
    JobFacets,
    JobType,
    Run,
    RunEvent,
)

ENDS = frozenset({"COMPLETE", "FAIL", "ABORT"})
RUNNING = "RUNNING"
"""The event types that can end a run."""

FLINK = "FLINK"
"""The engine whose checkpoints come without the kind of their job, and an integration of the jobType facet."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_PATH = re.compile(r" - at `\$\.?([^`]*)`$")
_MISSING = re.compile(r"missing required field `([^`]*)`")
_UNREAD = "[...]"
"""How msgspec names a place inside a value that it skips."""
_RUN_TEXTS = UUID("c6405b6e-dc5c-562c-809c-16de5068e50e")
"""The name space of run ids that are no UUIDs. It never changes: stored events are named by what is made with it."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_BREAKS = re.compile(r"[\t\n\v\f\r\x85]+")
"""The listener names a job by what it writes, which may be a query of several lines (JDBC's `dbtable`)."""

_EARLIEST, _LATEST = 1970, 3000
"""Years. Days are added to and subtracted from event times, so times beyond these are refused."""

_MAX_DATASETS = DATASETS.most

_decode_run_event = msgspec.json.Decoder(RunEvent).decode
_decode_envelope = msgspec.json.Decoder(Envelope).decode


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One validated OpenLineage event.

    `run_id` is a UUID in lower case, here and in `body`; `run_text` is the id as sent where that is no UUID, else
    empty. `time` is in UTC; `omitted` lists the paths of parts that do not follow the specification.
    A job event with data sets counts as a run that completed at its time. Other job events, and data set events, belong
    to no run: their `run_id` is empty and `body` is None.
    """

    run_id: str
    time: datetime
    type: EventType
    body: RunEvent | None
    omitted: tuple[str, ...] = ()
    run_text: str = ""

    @property
    def may_stream(self) -> bool:
        """Whether it may tell of a stream that runs: such a run counts without an end. Checkpoints of Flink do not
        always say of what kind their job is.
        """
        if self.type != RUNNING or self.body is None:
            return False
        kind, facets = self.body.job_type, self.body.run.facets
        if kind.processing_type or not (facets and facets.processing_engine):
            return kind.is_stream
        return (facets.processing_engine.name or "").upper() == FLINK


def decode(raw: bytes) -> Event:
    """Decode one event from the bytes of a JSON object (RFC 8259; a byte order mark is skipped).

    Raises Unreadable, naming the field, if the bytes are no JSON or if what identifies the event (class, run, job,
    time, type) is missing or of the wrong type; TooLarge if it names too many data sets. Broken or oversized data sets
    and facets are omitted and listed in `omitted`.
    """
    raw = raw.removeprefix(BYTE_ORDER_MARK)
    try:
        body = None if is_crowded(raw) else _decode_run_event(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        body = None
    if body is not None:
        return _run_event(body, ())
    event, omitted = _decode_leniently(raw)
    return _run_event(event, omitted) if isinstance(event, RunEvent) else _static_event(event, omitted)


def _run_event(body: RunEvent, omitted: tuple[str, ...]) -> Event:
    if not (body.job.namespace.isprintable() and body.job.name.isprintable()):
        body = _with_names_on_one_line(body)
        _check_name(body.job.namespace, "job.namespace")
        _check_name(body.job.name, "job.name")
    run = body.run
    if len(body.inputs or ()) > _MAX_DATASETS or len(body.outputs or ()) > _MAX_DATASETS:
        raise TooLarge(f"An event may name {_MAX_DATASETS:,} inputs and as many outputs; this one names more")
    run_text = ""
    if not is_uuid(run.run_id):
        run_text = run.run_id
        _check_run_id(run_text)
        body = replace(body, run=replace(run, run_id=run_id_of(run_text)))
    facets = run.facets
    if facets and facets.parent and not is_uuid(facets.parent.run.run_id):
        parent: Parent | None = _parent_of_text(facets.parent)
        body = replace(body, run=replace(body.run, facets=replace(facets, parent=parent)))
        omitted = omitted if parent else (*omitted, "run.facets.parent")
    return Event(
        run_id=body.run.run_id.lower(),
        time=_time(body.event_time),
        type=body.event_type or "OTHER",
        body=body,
        omitted=omitted,
        run_text=run_text,
    )


def _with_names_on_one_line(body: RunEvent) -> RunEvent:
    """The job's name on one line, and its parent's, with which it begins."""
    run, job = body.run, replace(body.job, name=on_one_line(body.job.name))
    if run.facets and run.facets.parent:
        parent = run.facets.parent
        new_parent = replace(parent, job=replace(parent.job, name=on_one_line(parent.job.name)))
        run = replace(run, facets=replace(run.facets, parent=new_parent))
    return replace(body, run=run, job=job)


def on_one_line(name: str) -> str:
    """A job's name with spaces for line breaks and tabs."""
    return _BREAKS.sub(" ", name)


def run_id_of(text: str) -> str:
    """The id under which a run is stored: a UUID in lower case. Another text becomes a UUID of version 5 (RFC 9562)."""
    return text.lower() if is_uuid(text) else str(uuid5(_RUN_TEXTS, text))


def is_uuid(text: str) -> bool:
    """Whether a run's id has the form that the specification demands: 36 characters."""
    return len(text) == _LENGTH_OF_UUID and _looks_like_uuid(text)


def _check_run_id(text: str) -> None:
    """Raises Unreadable for a text that identifies no run."""
    if not text.strip():
        raise Unreadable("A run's id must not be empty", field="run.runId")
    if len(text) > NAME.most:
        raise Unreadable(f"A run's id may have {NAME.most:,} characters", field="run.runId")
    _check_name(text, "run.runId")


def _parent_of_text(parent: Parent) -> Parent | None:
    """A parent whose run's id is no UUID; None if the id identifies no run."""
    try:
        _check_run_id(parent.run.run_id)
    except Unreadable:
        return None
    return replace(parent, run=RunRef(run_id=run_id_of(parent.run.run_id)))


_LENGTH_OF_UUID = 36


@lru_cache(maxsize=4096)
def _looks_like_uuid(text: str) -> bool:
    """Cached: an id stands in all events of its run, an application's in those of all its runs."""
    return _UUID.fullmatch(text) is not None


def _static_event(event: JobEvent | DatasetEvent, omitted: tuple[str, ...]) -> Event:
    """A job event with data sets as a run that completed at its time, with an id made of job and time: a repeated event
    is the same run, a later one replaces it. So is a data set event that says what feeds its data set (a view, say):
    its job is the data set itself. Others have no lineage.
    """
    job, inputs, outputs = _declared_of(event)
    if not (inputs or outputs):
        return Event(run_id="", time=_time(event.event_time), type="OTHER", body=None, omitted=omitted)
    identity = f"{job.namespace}\n{job.name}\n{_time(event.event_time).isoformat()}"
    body = RunEvent(
        event_time=event.event_time,
        event_type="COMPLETE",
        run=Run(run_id=str(uuid5(NAMESPACE_URL, identity))),
        job=job,
        inputs=inputs,
        outputs=outputs,
    )
    return _run_event(body, omitted)


_Datasets = tuple[Dataset, ...] | None


def _declared_of(event: JobEvent | DatasetEvent) -> tuple[Job, _Datasets, _Datasets]:
    """The job of an event without a run, with what it reads and writes."""
    if isinstance(event, JobEvent):
        return event.job, event.inputs, event.outputs
    dataset, facets = event.dataset, event.dataset.facets
    job_facets = JobFacets(job_type=JobType(job_type=DATASET))
    job = Job(namespace=dataset.namespace, name=dataset.name, facets=job_facets)
    columns = facets.column_lineage if facets else None
    is_fed = bool(facets and facets.lineage and facets.lineage.has_content)
    return job, None, (dataset,) if is_fed or (columns and (columns.fields or columns.dataset)) else None


def _check_name(name: str, field: str) -> None:
    if _CONTROL.search(name):
        raise Unreadable("Control characters are not allowed here", field=field)


def _decode_leniently(raw: bytes) -> tuple[RunEvent | JobEvent | DatasetEvent, tuple[str, ...]]:
    """Decode what the fast path refused: repair the JSON, then keep the parts that fit. Raises Unreadable."""
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


def _guard(decoder: Callable[[bytes], T], raw: bytes) -> T:
    """Call `decoder`, and turn its errors into Unreadable with the field's path for the sender."""
    try:
        return decoder(raw)
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
