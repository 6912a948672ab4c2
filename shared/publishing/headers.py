"""The headers of applications, from which the publisher takes what they contribute: each is read once a drain.

A worker leaves its marks before it commits. A mark whose version the header has not reached is in flight: it is left
for the next drain. If it never comes (its worker died, or lost against itself), its version is taken away from it by
writing it into the header (the fence): a commit that is still under way is refused then, and its worker starts over.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from shared.applications import rows
from shared.applications.partition import read_state
from shared.applications.parts import NO_CONTENT, PartContent, part_contents
from shared.applications.state import ApplicationState
from shared.publishing.context import PublishContext
from shared.records.publish_queue import Mark
from shared.storage_layout import APPLICATIONS, HEADER

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
    activity: dict[str, datetime | None] = field(default_factory=dict)
    remembered: set[str] = field(default_factory=set)

    def state(self, application: str) -> ApplicationState:
        """The state of an application, which the marks that were looked at have reached. Raises ContentLost."""
        if application not in self.states:
            if len(self.states) >= _MOST:
                self.states.clear()
                self.contents.clear()
            self.states[application] = self._read(application)
        return self.states[application]

    def _read(self, application: str) -> ApplicationState:
        opened = read_state(self.context.storage, application, self.context.memory)
        state = opened.state if opened else _NO_STATE
        self.activity[application] = max(filter(None, (state.active, state.last)), default=None)
        return state

    def active(self, application: str) -> datetime | None:
        """The last event time of an application, as its header has it. Raises ContentLost."""
        if application not in self.activity:
            self._read(application)
        return self.activity[application]

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
