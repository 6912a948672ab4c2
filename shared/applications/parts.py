"""What an application contributes to a process, as the publisher keeps it: a row of the process's partition.

Only the publisher writes these rows, from the application's state. Times stand in cells of their own, so that parts
which others supersede are not decoded.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_

import msgspec

from shared.applications.state import ApplicationState, LatestRun
from shared.model import Contribution, Span
from shared.records.cells import PackedCell, cells_of
from shared.storage.port import Row, Storage, Value
from shared.storage_layout import process_key

MAX_STARTS = 32
"""Starts of runs that a part keeps: the last ones."""


class PartContent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The long cells of a part: its contributions, the last run that contributed, and the starts of its last runs."""

    contributions: tuple[Contribution, ...] = ()
    latest: LatestRun | None = None
    starts: tuple[datetime, ...] = ()


_CONTENT = PackedCell(name="part", decoder=msgspec.json.Decoder(PartContent))
NO_CONTENT = PartContent()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What an application contributes to a process (by key) from this `version` of it on.

    `first`, `last`, `ended`: times and end of the application's own run; `active`: the last event time of any of its
    runs; `closed`: when its last run was closed. `seen_first`, `seen_last`: when runs contributed, None without
    contributions. `content` is None until it is read from `stored`.
    """

    process: str
    application: str
    version: int
    first: datetime | None = None
    last: datetime | None = None
    ended: str | None = None
    active: datetime | None = None
    closed: datetime | None = None
    seen_first: datetime | None = None
    seen_last: datetime | None = None
    content: PartContent | None = None
    stored: Row | None = None
    etag: str = ""

    @property
    def seen(self) -> Span | None:
        """When runs contributed."""
        return Span(first=self.seen_first, last=self.seen_last) if self.seen_first and self.seen_last else None

    @property
    def began(self) -> datetime | None:
        """When the application began, as far as is known: what orders applications."""
        return min((moment for moment in (self.first, self.seen_first) if moment), default=None)

    def loaded(self, storage: Storage) -> PartContent:
        """Its content. Raises ContentLost."""
        if self.content is not None:
            return self.content
        return _CONTENT.unpack(storage, self.stored) if self.stored else NO_CONTENT

    def row(self, storage: Storage) -> Row:
        """As a row of `processes`; a long content is a blob, which is written first."""
        names = ("process", "application", "content", "stored")
        values: dict[str, Value] = {**cells_of(self, without=names), **_CONTENT.pack(storage, self.loaded(storage))}
        return Row(partition=self.process, key=self.application, values=values, etag=self.etag)

    @classmethod
    def of(cls, row: Row) -> "Part":
        """From a row of `processes`."""
        return cls(
            process=row.partition,
            application=row.key,
            version=int(str(row.values["version"])),
            ended=str(row.values["ended"]) if "ended" in row.values else None,
            stored=row,
            etag=row.etag,
            first=_moment(row, "first"),
            last=_moment(row, "last"),
            active=_moment(row, "active"),
            closed=_moment(row, "closed"),
            seen_first=_moment(row, "seen_first"),
            seen_last=_moment(row, "seen_last"),
        )


def _moment(row: Row, name: str) -> datetime | None:
    return datetime.fromisoformat(str(row.values[name])) if name in row.values else None


def part_contents(application: str, state: ApplicationState) -> dict[str, PartContent]:
    """What an application in this state contributes, by the keys of the processes. Pure."""
    starts: dict[str, set[datetime]] = {}
    for content in state.contents.values():
        spans = content.supporters.values()
        starts.setdefault(process_key(content.process.qualified_name), set()).update(span.first for span in spans)
    return {
        process: PartContent(
            contributions=contributions,
            latest=state.latest.get(process),
            starts=tuple(sorted(starts.get(process, ()))[-MAX_STARTS:]),
        )
        for process, contributions in state.contributions(application).items()
    }


def part_of(application: str, state: ApplicationState, process: str, content: PartContent, etag: str = "") -> Part:
    """What an application in this state contributes to a process (by key), of which this is the content. Pure."""
    seen_span = (
        reduce(or_, (contribution.seen for contribution in content.contributions)) if content.contributions else None
    )
    return Part(
        process=process,
        application=application,
        version=state.version,
        first=state.first,
        last=state.last,
        ended=state.ended,
        active=state.active,
        closed=state.closed,
        seen_first=seen_span.first if seen_span else None,
        seen_last=seen_span.last if seen_span else None,
        content=content,
        etag=etag,
    )
