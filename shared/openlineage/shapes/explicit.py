"""The facet `lineage`: which data sets, jobs and columns feed which, said entry by entry.

LineageDatasetFacet and LineageJobFacet 1-0-0 (OpenLineage 1.53). On a run event it is what that run did.
"""

from typing import Annotated

from shared.openlineage.shapes.base import Wire
from shared.openlineage.shapes.bounds import ColumnName, Columns, Entries, Name, Sources, Steps

DATASET = "DATASET"
"""The type of entries and sources that are data sets; the others are jobs."""


class Transformation(Wire, frozen=True):
    """How an input field acts on an output field; `type` is DIRECT or INDIRECT, `description` the expression."""

    type: str | None = None
    subtype: str | None = None
    masking: bool | None = None
    description: str | None = None

    @property
    def is_direct(self) -> bool:
        """Whether it passes the value on."""
        return (self.type or "").upper() == "DIRECT"

    @property
    def is_indirect(self) -> bool:
        """Whether the output only depends on the value."""
        return (self.type or "").upper() == "INDIRECT"

    @property
    def how(self) -> str:
        """The subtype in capitals; empty if unknown."""
        return (self.subtype or "").upper()


class LineageSource(Wire, frozen=True):
    """A data set or a job that feeds a target; with `field` that column of it. A job without a name is the event's."""

    type: str
    namespace: Name | None = None
    name: Name | None = None
    field: ColumnName | None = None
    transformations: Annotated[tuple[Transformation, ...], Steps] | None = None


SourcesOf = Annotated[tuple[LineageSource, ...], Sources]


class LineageField(Wire, frozen=True):
    """What feeds a column of the target."""

    inputs: SourcesOf | None = None


class DatasetLineage(Wire, frozen=True):
    """What feeds the data set whose facet it is: `inputs` all of it (none: nothing that is tracked), `fields` columns.

    An input with a field is a column on which all rows depend.
    """

    inputs: SourcesOf | None = None
    fields: Annotated[dict[ColumnName, LineageField], Columns] | None = None


class LineageEntry(DatasetLineage, frozen=True, kw_only=True):
    """The same of the data set or the job that the entry names."""

    type: str
    namespace: Name | None = None
    name: Name | None = None


class JobLineage(Wire, frozen=True):
    """All entries of an event."""

    entries: Annotated[tuple[LineageEntry, ...], Entries] | None = None
