"""The wire format's base type, its size limits, and the facets that people and tools declare.

The size limits are one table behind the wire types, decoding and docs/operate/input-limits.md. They are far above what
listeners send (Spark's own omits column lineage beyond 1,000 columns) and far below what would exhaust memory. msgspec
checks lengths and counts while it reads, at no cost. A part beyond its limit is omitted and its path recorded.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta, Struct, field


class Wire(Struct, rename="camel", frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Base of all: camelCase on the wire. `gc=False`, because JSON values have no reference cycles."""


REFUSED = "the event is refused"
LEFT_OUT = "the part is left out, and the rest is used"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A limit: `most` of `what`, and the consequence for an event `beyond` it."""

    what: str
    most: int
    beyond: str


NAME = Bound(what="characters of a namespace or a name", most=8_192, beyond=LEFT_OUT)
COLUMN_NAME = Bound(what="characters of a column's name", most=32_768, beyond=LEFT_OUT)
"""Spark names an expression without an alias by its whole text."""
DATASETS = Bound(what="inputs, and as many outputs", most=10_000, beyond=REFUSED)
COLUMNS = Bound(what="columns of a data set, and of its column lineage", most=50_000, beyond=LEFT_OUT)
SOURCES = Bound(what="source columns of a column", most=50_000, beyond=LEFT_OUT)
OTHER_NAMES = Bound(what="other names of a data set", most=1_000, beyond=LEFT_OUT)
STEPS = Bound(what="transformations of a source column", most=100, beyond=LEFT_OUT)
PROPERTIES = Bound(what="properties and parameters of a run, and jobs it depends on", most=1_000, beyond=LEFT_OUT)
TAGS = Bound(what="tags of a run, a job or a data set", most=50_000, beyond=LEFT_OUT)
OWNERS = Bound(what="owners of a job or a data set", most=1_000, beyond=LEFT_OUT)
DESCRIPTION = Bound(what="characters of a description", most=32_768, beyond=LEFT_OUT)
ASSERTIONS = Bound(what="tests of a data set, and quantiles of a column", most=10_000, beyond=LEFT_OUT)
ENTRIES = Bound(
    what="entries of explicit lineage, parts of a subset, levels of a hierarchy", most=10_000, beyond=LEFT_OUT
)
VALUES = Bound(what="values in a part that is looked at", most=1_000_000, beyond=LEFT_OUT)
"""Counted by their commas, before anything is built: two bytes of JSON may become seventy of memory."""

Name = Annotated[str, Meta(max_length=NAME.most)]
"""A namespace or a name of a job or a data set."""

ColumnName = Annotated[str, Meta(max_length=COLUMN_NAME.most)]
"""A column's name."""

Description = Annotated[str, Meta(max_length=DESCRIPTION.most)]
"""A text for people."""

Columns = Meta(max_length=COLUMNS.most)
Sources = Meta(max_length=SOURCES.most)
OtherNames = Meta(max_length=OTHER_NAMES.most)
Steps = Meta(max_length=STEPS.most)
Properties = Meta(max_length=PROPERTIES.most)
TagsOf = Meta(max_length=TAGS.most)
OwnersOf = Meta(max_length=OWNERS.most)
AssertionsOf = Meta(max_length=ASSERTIONS.most)
Quantiles = Meta(max_length=ASSERTIONS.most)
Entries = Meta(max_length=ENTRIES.most)


_SLICE = 1 << 16


def is_crowded(raw: bytes) -> bool:
    """Whether a part has more values than may be built."""
    if len(raw) <= VALUES.most:
        return False
    view = memoryview(raw)  # a Raw has no `count`
    return sum(bytes(view[start : start + _SLICE]).count(b",") for start in range(0, len(raw), _SLICE)) > VALUES.most


class DeclaredTag(Wire, frozen=True):
    """A key with a value; `source` names who set it (USER, SPARK, DBT CORE …), `field` the column that it is of."""

    key: Name
    value: Name | None = None
    source: Name | None = None
    field: ColumnName | None = None


class Tags(Wire, frozen=True):
    """The tags of a run, a job, or a data set with its columns."""

    tags: Annotated[tuple[DeclaredTag, ...], TagsOf] | None = None


class Owner(Wire, frozen=True):
    """A person, team or application, as `user:ann` or `team:data`; `type` as MAINTAINER."""

    name: Name
    type: Name | None = None


class Ownership(Wire, frozen=True):
    """The owners of a job or a data set."""

    owners: Annotated[tuple[Owner, ...], OwnersOf] | None = None


class Documentation(Wire, frozen=True):
    """A description for people; `content_type` is its MIME type."""

    description: Description | None = None
    content_type: Name | None = None


def tag_values(facet: Tags | None) -> Iterator[tuple[str, str, str]]:
    """Key, value and column of each tag."""
    for tag in (facet.tags or ()) if facet else ():
        yield tag.key, tag.value or "", tag.field or ""


def owner_names(facet: Ownership | None) -> Iterator[str]:
    """The names of the owners."""
    return (owner.name for owner in (facet.owners or ()) if owner.name) if facet else iter(())


def description_in(facet: Documentation | None) -> str:
    """The description; empty where there is none."""
    return (facet.description or "").strip() if facet else ""


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

    @property
    def has_content(self) -> bool:
        """Whether it states inputs or columns. An empty list of inputs states that nothing feeds the data set."""
        return self.inputs is not None or bool(self.fields)


class LineageEntry(DatasetLineage, frozen=True, kw_only=True):
    """The same of the data set or the job that the entry names."""

    type: str
    namespace: Name | None = None
    name: Name | None = None


class JobLineage(Wire, frozen=True):
    """All entries of an event."""

    entries: Annotated[tuple[LineageEntry, ...], Entries] | None = None


class Assertion(Wire, frozen=True):
    """A test and its result. Without `column` it is of the whole data set. `severity`: error or warn; `expected` and
    `actual`: values as text.
    """

    assertion: Name
    success: bool
    column: ColumnName | None = None
    severity: Name | None = None
    name: Name | None = None
    expected: Name | None = None
    actual: Name | None = None


class Assertions(Wire, frozen=True):
    """The tests of a data set."""

    assertions: Annotated[tuple[Assertion, ...], AssertionsOf] | None = None


class Expectation(Wire, frozen=True):
    """A test of Great Expectations and its result. `success` is a text where the result is numpy's bool, which
    OpenLineage's client cannot write: such a result is not known.
    """

    expectation_type: Name
    success: bool | Name | None = None
    column: ColumnName | None = None


class Expectations(Wire, frozen=True):
    """The tests of a data set by Great Expectations."""

    assertions: Annotated[tuple[Expectation, ...], AssertionsOf] | None = None


class TestExecution(Wire, frozen=True):
    """A test of a run. `status`: pass, fail or skip; `type`: `freshness`, `not_null` and others."""

    name: Name
    status: Name
    type: Name | None = None
    severity: Name | None = None
    expected: Name | None = None
    actual: Name | None = None


class RunTests(Wire, frozen=True):
    """The tests that a run executed."""

    tests: Annotated[tuple[TestExecution, ...], AssertionsOf] | None = None


class ColumnMetrics(Wire, frozen=True):
    """What was measured of a column; quantiles by their number, as `0.25`."""

    null_count: float | None = None
    distinct_count: float | None = None
    sum: float | None = None
    count: float | None = None
    min: float | None = None
    max: float | None = None
    quantiles: Annotated[dict[Name, float | None], Quantiles] | None = None


class Metrics(Wire, frozen=True):
    """What was measured of a data set, and of its columns."""

    row_count: int | None = None
    bytes: int | None = None
    file_count: int | None = None
    last_updated: Name | None = None
    column_metrics: Annotated[dict[ColumnName, ColumnMetrics], Columns] | None = None


class Level(Wire, frozen=True):
    """A level above a data set, or itself: `type` as DATABASE, SCHEMA or TABLE."""

    type: Name
    name: Name


class Hierarchy(Wire, frozen=True):
    """Where a data set lies, from the highest level to itself (HierarchyDatasetFacet 1-0-0)."""

    hierarchy: Annotated[tuple[Level, ...], Entries] | None = None


class Exposure(Wire, frozen=True):
    """A reader of a data set outside of dbt that its project declares: a dashboard, a notebook, an application.
    `unique_id` is `exposure.{package}.{name}`.
    """

    unique_id: Name = field(name="unique_id")
    name: Name
    type: Name | None = None
    url: Name | None = None


class Exposures(Wire, frozen=True):
    """The exposures that read a data set (`dbt_exposures` of OpenLineage's dbt integration, since 1.52). `project`: the
    one that declares them, where the event has no facet `dbt_run`; only our own events have it.
    """

    exposures: Annotated[tuple[Exposure, ...], Entries] | None = None
    project: Name | None = None


class DbtModel(Wire, frozen=True):
    """Marks what dbt makes (`dbt_model` of OpenLineage's dbt integration): a source has no such facet."""


class FieldOperand(Wire, frozen=True, tag_field="type", tag="field"):
    """A column in a comparison."""

    field: ColumnName


class LiteralOperand(Wire, frozen=True, tag_field="type", tag="literal"):
    """A value in a comparison: data, which are never shown."""

    value: str | None = None


Operand = FieldOperand | LiteralOperand


class Comparison(Wire, frozen=True, tag_field="type", tag="compare"):
    """The rows for which a comparison (EQUAL, GREATER_THAN …) holds."""

    left: Operand
    right: Operand
    comparison: Name


class Partition(Wire, frozen=True):
    """A partition by its columns and their values."""

    identifier: Name | None = None
    dimensions: Annotated[dict[ColumnName, Any], Properties] | None = None


class Partitions(Wire, frozen=True, tag_field="type", tag="partition"):
    """The rows in these partitions."""

    partitions: Annotated[tuple[Partition, ...], Entries] | None = None


class Locations(Wire, frozen=True, tag_field="type", tag="location"):
    """The rows at these locations."""

    locations: Annotated[tuple[Name, ...], Entries] | None = None


class Combination(Wire, frozen=True, tag_field="type", tag="binary"):
    """Two conditions with AND or OR between them."""

    left: "Condition"
    right: "Condition"
    operator: Name


Condition = Combination | Comparison | Locations | Partitions


class InputSubset(Wire, frozen=True):
    """Which part of a data set was read (BaseSubsetDatasetFacet 1-0-0)."""

    input_condition: Condition | None = None


class OutputSubset(Wire, frozen=True):
    """Which part of a data set was written (BaseSubsetDatasetFacet 1-0-0)."""

    output_condition: Condition | None = None
