"""The headers of applications, from which the publisher takes what they contribute: each is read once a drain.

A worker leaves its marks before it commits. A mark whose version the header has not reached is in flight: it is left
for the next drain. If it never comes (its worker died, or lost against itself), its version is taken away from it by
writing it into the header (the fence): a commit that is still under way is refused then, and its worker starts over.

What an application contributes to a process is a *part*, a row of the process's partition. Only the publisher writes
these rows, from the application's state. Times stand in cells of their own, so that parts which others supersede are
not decoded.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec

from shared.applications import rows
from shared.applications.partition import read_state
from shared.applications.state import ApplicationState, LatestRun
from shared.model import Contribution, Span
from shared.publishing.context import PublishContext
from shared.records.cells import PackedCell, cells_of, record_of
from shared.records.ledger import MAX_STARTS
from shared.records.publish_queue import Mark
from shared.storage.port import Row, Storage, Value
from shared.storage_layout import APPLICATIONS, HEADER, process_key


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
    stored: object = None  # a row, to whose type of cells msgspec can't convert
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
        return _CONTENT.unpack(storage, self.stored) if isinstance(self.stored, Row) else NO_CONTENT

    def row(self, storage: Storage) -> Row:
        """As a row of `processes`; a long content is a blob, which is written first."""
        names = ("process", "application", "content", "stored")
        values: dict[str, Value] = {**cells_of(self, omitted=names), **_CONTENT.pack(storage, self.loaded(storage))}
        return Row(partition=self.process, key=self.application, values=values, etag=self.etag)

    @classmethod
    def of(cls, row: Row) -> "Part":
        """From a row of `processes`."""
        return record_of(cls, row, process=row.partition, application=row.key, stored=row)


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
    spans = [contribution.seen for contribution in content.contributions]
    return Part(
        process=process,
        application=application,
        version=state.version,
        first=state.first,
        last=state.last,
        ended=state.ended,
        active=state.active,
        closed=state.closed,
        seen_first=min((span.first for span in spans), default=None),
        seen_last=max((span.last for span in spans), default=None),
        content=content,
        etag=etag,
    )


PATIENCE = timedelta(minutes=2)
"""How long a mark may be in flight: longer than a call to storage may be under way."""
_MOST = 500
"""States that are kept at a time."""
_NO_STATE = ApplicationState()


@dataclass(frozen=True, slots=True, kw_only=True)
class Headers:
    """Reads headers and keeps what it read, for one drain."""

    context: PublishContext
    states: dict[str, ApplicationState] = field(default_factory=dict)
    contents: dict[str, Mapping[str, PartContent]] = field(default_factory=dict)
    remembered: set[str] = field(default_factory=set)

    def state(self, application: str) -> ApplicationState:
        """The state of an application, which the marks that were looked at have reached. Raises ContentLost."""
        if application not in self.states:
            if len(self.states) >= _MOST:
                self.states.clear()
                self.contents.clear()
            state_read = read_state(self.context.storage, application, self.context.memory)
            self.states[application] = state_read.state if state_read else _NO_STATE
        return self.states[application]

    def active(self, application: str) -> datetime | None:
        """The last event time of an application, as its header has it. Raises ContentLost."""
        self.confirm(application)
        state = self.state(application)
        return max(filter(None, (state.active, state.last)), default=None)

    def content(self, application: str, process: str) -> PartContent:
        """What an application contributes to a process (by key). Raises ContentLost."""
        if application not in self.contents:
            self.contents[application] = part_contents(application, self.state(application))
        return self.contents[application].get(process, NO_CONTENT)

    def reaches(self, mark: Mark) -> bool:
        """Whether the application has reached the version of a mark; that of an old one is taken away from it. What
        this process committed itself need not be read.
        """
        commit = self.context.memory.commit(mark.application)
        if commit and mark.application not in self.states and commit.state.version >= mark.version:
            self.states[mark.application] = commit.state
            self.remembered.add(mark.application)
        if self.state(mark.application).version < mark.version:
            self._forget(mark.application)
        if self.state(mark.application).version >= mark.version:
            return True
        return self.context.publishing.now() - mark.left >= PATIENCE and self._fence(mark)

    def confirm(self, application: str) -> None:
        """Have the header of an application read that this process only remembers: another one may have changed it, and
        taken away what a mark that lands late would bring back.
        """
        if application in self.remembered:
            self._forget(application)

    def _forget(self, application: str) -> None:
        self.remembered.discard(application)
        self.states.pop(application, None)
        self.contents.pop(application, None)

    def _fence(self, mark: Mark) -> bool:
        """Write the version of a mark into its header. False where the header has changed meanwhile."""
        storage, application = self.context.storage, mark.application
        row = storage.read(APPLICATIONS, application, HEADER)
        self._forget(application)
        if row is None:
            state = ApplicationState(version=mark.version)
            return storage.insert(APPLICATIONS, rows.header(application, state, "", {}, storage).row) is not None
        if rows.version_of(row) >= mark.version:
            return True
        return storage.replace(APPLICATIONS, rows.with_version(row, mark.version)) is not None
