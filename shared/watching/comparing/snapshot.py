"""A snapshot: the state of lineage that the watch compares. Two snapshots have equal bytes exactly if nothing has
changed.
"""

import gzip
import zlib
from datetime import datetime

import msgspec
from msgspec import structs

from shared.lineage.document import NOT_SET, FailedTest, Health, LineageDocument

FORMAT = 1


class UnreadableSnapshotError(ValueError):
    """The bytes are no snapshot, or a snapshot of another format."""


class Overdue(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False):
    """A process (by qualified name) that did not start by its rhythm: its last start, and when the next one was due."""

    process: str
    last_start: datetime
    due: datetime


class BrokenGate(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False):
    """A rule of a policy that does not hold: the policy's name, the rule, and a sentence about the cause.

    `datasets`: keys (type, qualified name) of the data sets that the rule is about, if it names some.
    """

    policy: str
    rule: str
    sentence: str
    datasets: tuple[tuple[str, str], ...] = ()


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A state of lineage. `document` has no times, health or texts, which change without a change of lineage."""

    format: int = FORMAT
    document: LineageDocument
    overdue: tuple[Overdue, ...] = ()
    broken: tuple[BrokenGate, ...] = ()


def snapshot_of(
    document: LineageDocument, overdue: tuple[Overdue, ...] = (), broken: tuple[BrokenGate, ...] = ()
) -> Snapshot:
    """The snapshot of a document, with only the lineage that is valid now."""
    return Snapshot(document=_timeless(document), overdue=tuple(sorted(overdue)), broken=tuple(sorted(broken)))


def _timeless(document: LineageDocument) -> LineageDocument:
    flows = {structs.replace(each, valid_from=NOT_SET) for each in document.flows if each.valid_to == NOT_SET}
    edges = {
        structs.replace(each, valid_from=NOT_SET, steps=(), description="")
        for each in document.edges
        if each.valid_to == NOT_SET
    }
    processes = tuple(
        structs.replace(
            each,
            health=Health.GOOD,
            last_run="",
            first_seen=NOT_SET,
            last_seen=NOT_SET,
            statement="",
            operations=(),
            description="",
        )
        for each in document.processes
    )
    failed = {FailedTest(each.dataset, each.column, each.name) for each in document.failed_tests}
    return structs.replace(
        document,
        history=False,
        times=(),
        datasets=tuple(structs.replace(each, description="", tags=()) for each in document.datasets),
        processes=processes,
        flows=tuple(sorted(flows)),
        edges=tuple(sorted(edges)),
        tags=(),
        failed_tests=tuple(sorted(failed)),
    )


_ENCODER = msgspec.json.Encoder(order="deterministic")
_DECODER = msgspec.json.Decoder(Snapshot)


def packed(snapshot: Snapshot) -> bytes:
    """The snapshot as gzipped JSON; equal snapshots give equal bytes."""
    return gzip.compress(_ENCODER.encode(snapshot), mtime=0)


def unpacked(data: bytes) -> Snapshot:
    """The snapshot in these bytes. Raises UnreadableSnapshotError."""
    try:
        found = _DECODER.decode(gzip.decompress(data))
    except (OSError, EOFError, zlib.error, msgspec.DecodeError) as error:
        raise UnreadableSnapshotError(f"this is no snapshot of the watch: {error}") from error
    if found.format != FORMAT:
        raise UnreadableSnapshotError(
            f"this snapshot of the watch has format {found.format}, and this version reads format {FORMAT}"
        )
    return found
