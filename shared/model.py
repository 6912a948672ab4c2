"""The lineage model: frozen values, without I/O.

Every tuple here is sorted and free of duplicates where it stands for a set, so that equal lineage is
equal Python and serialises to equal bytes. What a wide table has thousands of is a msgspec struct: the same frozen,
slotted value, made several times faster than a data class.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

import msgspec


class EdgeKind(StrEnum):
    """How an input column reaches an output: by its value, or only by deciding what is written."""

    DIRECT = "DIRECT"
    INDIRECT = "INDIRECT"


DIRECT, INDIRECT = EdgeKind.DIRECT, EdgeKind.INDIRECT
"""For what looks at each edge: Python 3.11 takes seven times as long to find them in their class."""

FROM_CATALOG = "FROM_CATALOG"
"""The step of an edge that the catalog has from another program, which does not say how. Not OpenLineage's either."""
OPAQUE = "OPAQUE"
"""The step of a direct edge whose values went through code that Spark's plan does not show (`mapInPandas`, a typed
`map`): the input is an upper bound, it may reach the output or not. Not one of OpenLineage's words.
"""


class Asset(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False, omit_defaults=True):
    """A data set in the catalog, by `type` and `qualified_name`.

    `namespace` and `name` are the spelling of the events, kept because people search by it; `tables` are its names in
    catalogs of tables (`database.table`, lower case), if events have them. `also` are further types and qualified names
    under which a scan may have found it, except those that can be derived from its own name.
    """

    type: str
    qualified_name: str
    namespace: str
    name: str
    tables: tuple[str, ...] = ()
    also: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """What identifies it in the catalog: its type and qualified name."""
        return self.type, self.qualified_name


EXCLUDED = Asset(
    type="throughline_excluded",
    qualified_name="throughline://excluded/excluded by a filter",
    namespace="throughline://excluded",
    name="excluded by a filter",
)
"""Stands for every data set that the filters leave out, without its name: what is made of it is not known."""


class Column(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False):
    """A column of the asset with `qualified_name`; an empty `column` means all rows of it."""

    qualified_name: str
    column: str


ANY_EXCLUDED = Column(qualified_name=EXCLUDED.qualified_name, column="(any)")
"""Stands for every column of those data sets."""


class ColumnEdge(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False):
    """One input column and the output column it reaches.

    `masked` when only a mask of the value does; `how` names the steps in OpenLineage's words (IDENTITY,
    TRANSFORMATION, AGGREGATION; JOIN, FILTER …) and OPAQUE; `parsed` when no event said so and the job's statement was
    read.
    `expressions`: what the output is made of, where events or Spark's plan describe it, without literals.
    """

    input: Column
    output: Column
    kind: EdgeKind
    masked: bool = False
    how: tuple[str, ...] = ()
    parsed: bool = False
    expressions: tuple[str, ...] = ()

    @property
    def is_opaque(self) -> bool:
        """Whether the input is an upper bound: its value may reach the output or not."""
        return OPAQUE in self.how and self.kind is DIRECT


class Declared(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False, omit_defaults=True):
    """What events declare of a job or a data set: its owners (names with commas between), a description, tags as key,
    value and column (empty: the whole data set, or the job), and the `levels` of a data set's hierarchy as type and
    name, from the highest to itself.
    """

    owner: str = ""
    description: str = ""
    tags: tuple[tuple[str, str, str], ...] = ()
    levels: tuple[tuple[str, str], ...] = ()

    def __or__(self, earlier: "Declared") -> "Declared":
        """This, and what an earlier event declared where this says nothing."""
        if earlier in (self, NOTHING_DECLARED):
            return self
        return Declared(
            owner=self.owner or earlier.owner,
            description=self.description or earlier.description,
            tags=self.tags or earlier.tags,
            levels=self.levels or earlier.levels,
        )


NOTHING_DECLARED = Declared()


class QualityTest(msgspec.Struct, frozen=True, array_like=True, order=True, gc=False, omit_defaults=True):
    """The last result of a quality test: when it was, of which column (empty: the whole data set), by which job;
    `severity` is `error` or `warn` if an event says so.
    """

    at: datetime
    column: str
    name: str
    passed: bool
    job: str = ""
    severity: str = ""


MOST_TESTS = 64
"""Of a data set: those with the latest results are kept."""


def latest_tests(tests: Iterable[QualityTest]) -> tuple[QualityTest, ...]:
    """The last result of each test, sorted by time, whatever their order; of too many the latest."""
    latest: dict[tuple[str, str], QualityTest] = {}
    for test in sorted(tests):
        latest[test.column, test.name] = test
    return tuple(sorted(latest.values())[-MOST_TESTS:])


class AssetSchema(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False, omit_defaults=True):
    """The columns that a run saw the asset with `qualified_name` have, in their order, each with its type; and what its
    events declare of it.
    """

    qualified_name: str
    columns: tuple[tuple[str, str], ...]
    declared: Declared = NOTHING_DECLARED


class UnresolvedTable(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False):
    """A table that only a statement names, by a name that no event of its run gives a place; `columns` are pairs of
    source and output columns, with their kind; `opaque`: those of them that only code may pass on.
    """

    table: str
    columns: tuple[tuple[str, str, EdgeKind], ...] = ()
    opaque: tuple[tuple[str, str, EdgeKind], ...] = ()


class Origin(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False, omit_defaults=True):
    """Where a process is at home, in words for people, as far as events say: the platform, its workspace, the notebook
    or job, and an address that leads there; and what events declare of its job. None of it changes from run to run.
    """

    platform: str = ""
    workspace: str = ""
    job: str = ""
    link: str = ""
    declared: Declared = NOTHING_DECLARED


NO_ORIGIN = Origin()


class Process(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The catalog's node between assets: one per job and sink, the same for ever.

    `sourceless`: columns of the outputs that no column's value reaches according to the events: constants, and values
    made by code that the listener can't read. `parsed`: inputs (qualified names) that only the job's SQL names.
    `unresolved_tables`: tables of that SQL whose places only other runs of the application may give. `batch_inputs`:
    what the stream batch around this write read; they are the inputs where the write itself names none.
    `generic_identity`: the job is known only by a name that many jobs share. `schemas`: those of the inputs and outputs
    that events give. `origin`: where the job is at home. `exact`: Spark's own plan decided the columns of every run, so
    that what is `sourceless` are constants.
    """

    qualified_name: str
    name: str
    operations: tuple[str, ...]
    inputs: tuple[Asset, ...]
    outputs: tuple[Asset, ...]
    columns: tuple[ColumnEdge, ...]
    end_not_seen: bool = False
    sourceless: tuple[Column, ...] = ()
    parsed: tuple[str, ...] = ()
    batch_inputs: tuple[Asset, ...] = ()
    unresolved_tables: tuple[UnresolvedTable, ...] = ()
    generic_identity: bool = False
    schemas: tuple[AssetSchema, ...] = ()
    origin: Origin = NO_ORIGIN
    exact: bool = False


class Span(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False):
    """First and last event time."""

    first: datetime
    last: datetime

    def __or__(self, other: "Span") -> "Span":
        return Span(first=min(self.first, other.first), last=max(self.last, other.last))


class Contribution(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one application run contributes to one process, and when: one value per distinct content."""

    application_run: str
    content: Process
    seen: Span


class RunLineage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The lineage of one run: a process for each sink, as far as the run's own events show."""

    application_run: str
    processes: tuple[Process, ...]


class ApplicationTimes(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is known of an application run beside its contributions.

    `first` and `last` are the times of its own events, `ended` its own end: COMPLETE, FAIL, ABORT or nothing yet.
    """

    first: datetime | None = None
    last: datetime | None = None
    ended: str | None = None
