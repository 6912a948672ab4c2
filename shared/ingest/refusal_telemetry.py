"""The receiver's telemetry, as facts."""

from collections.abc import Iterator
from contextlib import contextmanager

from shared.errors import Refused, StorageUnavailable
from shared.telemetry.kinds import ActKind
from shared.telemetry.port import Act, Telemetry


@contextmanager
def receiving(telemetry: Telemetry, kind: ActKind, size: int) -> Iterator[Act]:
    """An event, or a batch, of so many bytes that is received, also one that is not taken."""
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
