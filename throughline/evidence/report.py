"""A report of evidence, as values: where data came from, where it went, what masks it, what is not known, who says so.

`throughline/evidence/building.py` makes one of a lineage document; the same values are in the page, as JSON, and are
read again by a check.
"""

import hashlib
from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from shared.storage_layout import StoredEvent

FORMAT = 1


class Part(StrEnum):
    """What a step of a report is about."""

    SOURCE = "came from"
    TARGET = "went to"
    MASKED = "masked"
    DECLASSIFIED = "declassified"
    OPAQUE = "may have gone to"


class Beginning(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A column where the report begins: a classification does, or it is the data set's own. `said_by`: who says so."""

    dataset: str
    column: str
    said_by: str


class Step(msgspec.Struct, frozen=True, kw_only=True, order=True, omit_defaults=True):
    """A column, and the column that its value reaches by a process; of a whole data set the columns are empty.

    `said_by`: who says that it does; `mask`: what stops the value, and who says that; `expression`: how the value is
    computed, where that was asked for. `process`: its qualified name. Times are ISO 8601, empty for ever or until now.
    """

    part: Part
    from_dataset: str
    from_column: str = ""
    to_dataset: str
    to_column: str = ""
    kind: str
    said_by: str
    process: str
    mask: str = ""
    expression: str = ""
    valid_from: str = ""
    valid_to: str = ""


class Unknown(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A column (empty: a data set) of which it is not known whether, or from where, values reach it; and why."""

    dataset: str
    column: str
    reason: str


class ReportedProcess(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A process of the steps: its job, when runs contributed, and the events from which it was computed.

    `digest`: of these events' names; empty where they were not listed.
    """

    qualified_name: str
    name: str
    job: str = ""
    platform: str = ""
    workspace: str = ""
    link: str = ""
    owner: str = ""
    operations: tuple[str, ...] = ()
    first_seen: str = ""
    last_seen: str = ""
    last_run: str = ""
    events: int = 0
    digest: str = ""


Events = Mapping[str, tuple[str, ...]]
"""By folder of the container `events` the names of blobs, sorted: that is where the events lie, or lay before they were
archived. A name ends with the digest of the bytes that were received.
"""


class Report(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All of it. `subject`: a classification's name, or a data set's qualified name, as `kind` says.

    `as_of`, `made`: the time of the lineage, and when the report was made, ISO 8601. `source`: record or lake, and
    which. `rules`: the rules file with the first 32 digits of its SHA-256. `remarks`: what the report leaves out.
    `digest`: SHA-256 of `events`.
    """

    format: int
    version: str
    kind: str
    subject: str
    as_of: str
    made: str
    source: str
    rules: str = ""
    beginnings: tuple[Beginning, ...] = ()
    steps: tuple[Step, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    processes: tuple[ReportedProcess, ...] = ()
    remarks: tuple[str, ...] = ()
    events: dict[str, tuple[str, ...]] = {}
    digest: str = ""

    def steps_of(self, *parts: Part) -> tuple[Step, ...]:
        """The steps of these parts, in the report's order."""
        return tuple(step for step in self.steps if step.part in parts)

    @property
    def number_of_events(self) -> int:
        """How many events the report rests on."""
        return sum(map(len, self.events.values()))


_ENDING = ".json.gz"


def events_by_folder(events: Iterable[StoredEvent]) -> dict[str, tuple[str, ...]]:
    """The names of these events' blobs by folder, sorted."""
    folders: dict[str, list[str]] = {}
    for event in events:
        folders.setdefault(event.folder, []).append(event_name(event))
    return {folder: tuple(sorted(folders[folder])) for folder in sorted(folders)}


def event_name(event: StoredEvent) -> str:
    """The name of its blob in its folder, without the ending that all have."""
    return event.blob.rpartition("/")[2].removesuffix(_ENDING)


def events_digest(events: Events) -> str:
    """SHA-256 over the blobs' names, sorted, a line each: 64 hexadecimal digits."""
    names = sorted(f"{folder}/{name}{_ENDING}\n" for folder, names in events.items() for name in names)
    return hashlib.sha256("".join(names).encode()).hexdigest()
