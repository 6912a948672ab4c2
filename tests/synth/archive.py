"""Writing lines as the archive has them: gzip files of JSON lines by the hour of the events
(docs/reference/archive.md).
"""

import hashlib
import zlib
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import msgspec

LINES = 4_000
"""How many events a file of the archive holds at most."""

_GZIP = 31
_LEVEL = 1


class _Line(msgspec.Struct, kw_only=True):
    digest: str
    run: str
    job: str
    blob: str
    arrived: str
    closed: str
    ignored: str | None
    event: str


_encode = msgspec.json.Encoder().encode


def archived(raw: bytes, *, run: str, job: str, kind: str, moment: datetime, arrived: str, closed: str) -> bytes:
    """The event `raw` of type `kind` as a line of the archive, without its end; times as events have them."""
    digest = hashlib.sha256(raw).hexdigest()[:32]
    return _encode(
        _Line(
            digest=digest,
            run=run,
            job=job,
            blob=f"{moment:%Y/%m/%d/%H}/{run}/{moment:%Y%m%dT%H%M%S%fZ}_{kind}_{digest}.json.gz",
            arrived=arrived,
            closed=closed,
            ignored=None,
            event=raw.decode(),
        )
    )


@dataclass(slots=True, kw_only=True)
class _Open:
    parts: list[bytes] = field(default_factory=list)
    member: list[bytes] = field(default_factory=list)
    run: bytes = b""
    lines: int = 0


@dataclass(slots=True, kw_only=True)
class ArchiveFiles:
    """Files that are being written, by hour; a file is complete when it is there."""

    root: Path
    files: int = 0
    size: int = 0
    open: dict[str, _Open] = field(default_factory=dict)

    def add(self, moment: datetime, run: bytes, line: bytes) -> None:
        """One line, in the file of its hour; the lines of a run that follow one another make one gzip member."""
        hour = f"{moment:%Y/%m/%d/%H}"
        file = self.open.setdefault(hour, _Open())
        if file.run != run:
            _close_member(file)
            file.run = run
            if file.lines >= LINES:
                self._flush(hour)
                file = self.open[hour] = _Open(run=run)
        file.member.append(line)
        file.lines += 1

    def close_before(self, moment: datetime) -> None:
        """Write the files of all hours before this one."""
        now = f"{moment:%Y/%m/%d/%H}"
        for hour in sorted(hour for hour in self.open if hour < now):
            self._flush(hour)

    def close(self) -> None:
        """Write what is left."""
        for hour in sorted(self.open):
            self._flush(hour)

    def _flush(self, hour: str) -> None:
        file = self.open.pop(hour)
        _close_member(file)
        data = b"".join(file.parts)
        if not data:
            return
        folder = self.root / hour
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{hashlib.sha256(data).hexdigest()[:32]}.jsonl.gz").write_bytes(data)
        self.files += 1
        self.size += len(data)


def _close_member(file: _Open) -> None:
    if file.member:
        press = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
        file.parts.append(press.compress(b"".join(file.member)) + press.flush())
        file.member = []
