"""Values of the core as bytes in a column, and back. Equal values are equal bytes."""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from shared.model import ApplicationTimes, Contribution, Process, Span
from shared.openlineage.run import MergedRun
from shared.translation.run.application import ApplicationFacts, LifecycleEvent

pack = msgspec.msgpack.Encoder(order="deterministic").encode
unpack_run = msgspec.msgpack.Decoder(MergedRun).decode
unpack_facts = msgspec.msgpack.Decoder(ApplicationFacts).decode
unpack_process = msgspec.msgpack.Decoder(Process).decode
unpack_lifecycle_events = msgspec.msgpack.Decoder(tuple[LifecycleEvent, ...]).decode


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(moment: datetime) -> int:
    """A time as a row has it: microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(micros: int) -> datetime:
    """The time, in UTC, that a row has as microseconds since 1970."""
    return _EPOCH + micros * _MICROSECOND


def digest(data: bytes) -> str:
    """32 hexadecimal digits that stand for these bytes."""
    return hashlib.sha256(data).hexdigest()[:32]


def contribution_of(row: Any) -> Contribution:
    """The contribution in a row with `application_run`, `content` and the times `first` and `last`."""
    seen_span = Span(first=moment(row.first), last=moment(row.last))
    return Contribution(application_run=row.application_run, content=unpack_process(row.content), seen=seen_span)


def application_times_of(row: Any) -> ApplicationTimes:
    """The times and the end of an application run in a row with `app_first`, `app_last` and `ended`, null if the run
    has no events of its own.
    """
    if row.app_first is None:
        return ApplicationTimes()
    return ApplicationTimes(first=moment(row.app_first), last=moment(row.app_last), ended=row.ended)


def edges(process: Process) -> list[dict[str, Any]]:
    """The column edges of a process as rows of a column of the lake."""
    return [
        {
            "input": edge.input.qualified_name,
            "input_column": edge.input.column,
            "output": edge.output.qualified_name,
            "output_column": edge.output.column,
            "kind": edge.kind.value,
            "masked": edge.masked,
            "parsed": edge.parsed,
            "how": list(edge.how),
        }
        for edge in process.columns
    ]


def assets(process: Process, side: str) -> list[dict[str, str]]:
    """The inputs or outputs of a process in the same way."""
    return [{"type": asset.type, "qualified_name": asset.qualified_name} for asset in getattr(process, side)]
