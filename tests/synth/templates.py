"""Captured events as templates: the same bytes with other ids, times, places and names of jobs.

A template is compiled once into literals and slots, so that an event costs a join and not a parse.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from shared.openlineage.decoding import ENDS, Event, decode

PLACE = b"/data/throughline"
"""The folder that stands in captured events for wherever the job ran (tests/golden/README.md)."""

_NAMESPACE = b'"namespace":"default"'
_FIELDS = b'"fields":['
_TIME = re.compile(rb'"eventTime":"[^"]*"')
_COMPLETE = b'"eventType":"COMPLETE"'


class NoTemplatesError(Exception):
    """The folder of captured events holds none; the message says which and what to do."""


class Slots(msgspec.Struct, frozen=True, kw_only=True):
    """What an instance of a template puts into its slots, all as bytes that may stand in JSON.

    `ids` are the runs' ids by the captured ones, `places` the data sets' by the captured ones (the longest first),
    `field` goes before the columns of every schema, `retyped` says whether integers have become longs.
    """

    ids: Mapping[bytes, bytes]
    namespace: bytes
    places: Mapping[bytes, bytes]
    application: bytes
    field: bytes = b""
    retyped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """An event of a template: its bytes between slots, the keys of the slots, and when it happened in its template."""

    parts: tuple[bytes, ...]
    after: float
    run: bytes
    type: str
    job: str

    def render(self, slots: Slots, time: bytes, *, failed: bool) -> bytes:
        """The event with these values."""
        parts = list(self.parts)
        for index in range(1, len(parts), 2):
            parts[index] = _value(parts[index], slots, time)
        raw = b"".join(parts)
        if slots.retyped:
            raw = raw.replace(b'"type":"integer"', b'"type":"long"')
        return raw.replace(_COMPLETE, b'"eventType":"FAIL"') if failed else raw


def _value(slot: bytes, slots: Slots, time: bytes) -> bytes:
    if slot in slots.ids:
        return slots.ids[slot]
    if slot in slots.places:
        return slots.places[slot]
    if slot == _NAMESPACE:
        return b'"namespace":"%s"' % slots.namespace
    if slot == _FIELDS:
        return _FIELDS + slots.field
    if slot.startswith(b'"eventTime'):
        return b'"eventTime":"%s"' % time
    return b'"name":"' + slots.application + slot[-1:]


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """The events of one application, in order; `ids` are those of its runs, `application` its own first.

    `places` are those parts of data sets' names that an instance may replace.
    """

    name: str
    pieces: tuple[Piece, ...]
    ids: tuple[bytes, ...]
    places: tuple[bytes, ...]
    application: bytes
    lasts: float

    @classmethod
    def of(cls, name: str, lines: Sequence[tuple[bytes, Event]], places: Sequence[bytes] = (PLACE,)) -> "Template":
        """Of the events of one application."""
        ids: dict[bytes, None] = {}
        names: dict[str, None] = {}
        for _, event in lines:
            body = event.body
            parent = body.run.facets.parent if body and body.run.facets else None
            if parent:
                ids.setdefault(parent.run.run_id.encode())
                names.setdefault(parent.job.name)
            ids.setdefault(event.run_id.encode())
        application = next(iter(names), name).encode()
        starts = [b'"name":"' + application + b'"', b'"name":"' + application + b"."]
        needles = (*ids, *sorted(places, key=len, reverse=True), _NAMESPACE, _FIELDS, *starts)
        slots = re.compile(b"(" + _TIME.pattern + b"|" + b"|".join(map(re.escape, needles)) + b")")
        start = min(event.time for _, event in lines)
        pieces = tuple(_piece(raw, event, slots, start) for raw, event in lines)
        return cls(
            name=name,
            pieces=pieces,
            ids=tuple(ids),
            places=tuple(places),
            application=application,
            lasts=max(piece.after for piece in pieces),
        )


def _piece(raw: bytes, event: Event, slots: re.Pattern[bytes], start: datetime) -> Piece:
    return Piece(
        parts=tuple(slots.split(raw)),
        after=(event.time - start).total_seconds(),
        run=event.run_id.encode(),
        type=event.type,
        job=event.body.job.name if event.body else "",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Templates:
    """The templates of histories: whole applications, a copy (one input), a join (two), and rounds of streams."""

    applications: tuple[Template, ...]
    copy: Template
    join: Template
    rounds: tuple[Template, ...]


_WHOLE = ("files", "frames", "statements", "delta_tables", "tables", "staging", "customer_merge", "partitions")
_STREAMS = ("streaming", "foreach_batch")


def read_templates(folder: Path) -> Templates:
    """The templates of a folder of captures (`<scenario>/events.jsonl`). Raises NoTemplatesError."""
    try:
        lines_by_name = {name: list(_lines(folder / name)) for name in (*_WHOLE, *_STREAMS)}
    except FileNotFoundError as error:
        raise NoTemplatesError(
            f"No captured events at {error.filename}: name the folder of a capture, as tests/golden/spark35-ol1.53"
        ) from error
    return Templates(
        applications=tuple(Template.of(name, lines_by_name[name]) for name in _WHOLE),
        copy=_single("copy", lines_by_name["files"], inputs=1),
        join=_single("join", lines_by_name["frames"], inputs=2),
        rounds=tuple(Template.of(name, _round(lines_by_name[name])) for name in _STREAMS),
    )


def _lines(folder: Path) -> Iterator[tuple[bytes, Event]]:
    for raw in (folder / "events.jsonl").read_bytes().splitlines():
        yield raw, decode(raw)


def _single(name: str, lines: Sequence[tuple[bytes, Event]], *, inputs: int) -> Template:
    """The application's own events and those of its first run that reads so many data sets and writes another, with
    columns: the names of its data sets may be replaced.
    """
    for run in dict.fromkeys(event.run_id for _, event in lines):
        run_lines = [(raw, event) for raw, event in lines if event.run_id == run]
        bodies = [event.body for _, event in run_lines if event.body]
        read_names = sorted({dataset.name for body in bodies for dataset in body.inputs or ()})
        written_names = sorted({output.name for body in bodies for output in body.outputs or ()})
        has_columns = any(
            output.facets and output.facets.column_lineage for body in bodies for output in body.outputs or ()
        )
        if (
            has_columns
            and len(read_names) == inputs
            and len(written_names) == 1
            and not {*read_names} & {*written_names}
        ):
            application = [(raw, event) for raw, event in lines if _is_application(event)]
            places = tuple(place.encode() for place in (*read_names, *written_names))
            return Template.of(name, [*application[:1], *run_lines, *application[1:]], places)
    raise NoTemplatesError(f"No captured run reads {inputs} data sets and writes one with columns")


def _is_application(event: Event) -> bool:
    return bool(event.body and not (event.body.run.facets and event.body.run.facets.parent))


def _round(lines: Sequence[tuple[bytes, Event]]) -> list[tuple[bytes, Event]]:
    """One round of a stream: from a batch's START until all runs that began meanwhile have ended."""
    round_lines: list[tuple[bytes, Event]] = []
    running: set[str] = set()
    wrote = False
    for raw, event in lines:
        body = event.body
        if body is None or _is_application(event):
            continue
        kind = body.job.facets.job_type if body.job.facets else None
        if not running:
            round_lines, wrote = [], False
            if not kind or kind.processing_type != "STREAMING" or event.type != "START":
                continue
        round_lines.append((raw, event))
        wrote |= bool(body.outputs)
        (running.discard if event.type in ENDS else running.add)(event.run_id)
        if not running and wrote:
            return round_lines
    raise NoTemplatesError("No captured stream has a whole round")
