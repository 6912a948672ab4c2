"""The values of Marquez' read API.

Names and shapes: https://github.com/MarquezProject/marquez/blob/main/spec/openapi.yml. What the document of lineage has
no value for is left out: versions, runs, sources, when a data set was made.
"""

from datetime import datetime

import msgspec


class _Value(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    """A JSON object in Marquez' spelling, without what has its default value."""


class Name(_Value, frozen=True):
    """A data set or a job by namespace and name."""

    namespace: str
    name: str


class Field(_Value, frozen=True):
    """A column; `type` where a schema has it."""

    name: str
    type: str = ""
    tags: tuple[str, ...] = ()


class Namespace(_Value, frozen=True):
    """A namespace."""

    name: str


class Namespaces(_Value, frozen=True):
    """Namespaces, and how many there are in all."""

    namespaces: tuple[Namespace, ...]
    total_count: int


class Level(_Value, frozen=True):
    """A level above a data set, or itself."""

    type: str
    name: str


class Hierarchy(_Value, frozen=True):
    """OpenLineage's facet: where a data set lies, from the highest level to itself."""

    hierarchy: tuple[Level, ...]


class OutputStatistics(_Value, frozen=True):
    """OpenLineage's facet: how much the last run wrote."""

    row_count: int | None = None
    size: int | None = None


class FailedQualityTest(_Value, frozen=True):
    """A quality test whose last result is a failure; without `column` it is of the whole data set."""

    name: str
    column: str = ""
    severity: str = ""
    at: datetime | None = None


class Quality(_Value, frozen=True):
    """The last results of a data set's quality tests."""

    tested_at: datetime
    passed: int
    failed: tuple[FailedQualityTest, ...]


class MarquezFacets(_Value, frozen=True):
    """Facets of a data set: OpenLineage's, and one of our own with the results of quality tests."""

    hierarchy: Hierarchy | None = None
    output_statistics: OutputStatistics | None = None
    quality: Quality | None = msgspec.field(name="throughline_quality", default=None)


class MarquezDataset(_Value, frozen=True):
    """A data set. `physical_name`: its qualified name in the catalog. `last_modified_at`: when a job wrote it last."""

    id: Name
    name: str
    physical_name: str
    namespace: str
    fields: tuple[Field, ...]
    tags: tuple[str, ...] = ()
    description: str = ""
    last_modified_at: datetime | None = None
    facets: MarquezFacets | None = None


class MarquezDatasets(_Value, frozen=True):
    """Data sets of a namespace, and how many it has."""

    datasets: tuple[MarquezDataset, ...]
    total_count: int


class MarquezJob(_Value, frozen=True):
    """A job with all that it reads and writes now. `created_at` and `updated_at`: its first and its last run known."""

    id: Name
    name: str
    simple_name: str
    namespace: str
    inputs: tuple[Name, ...]
    outputs: tuple[Name, ...]
    location: str = ""
    description: str = ""
    created_at: datetime | None = None
    updated_at: datetime | None = None


class MarquezJobs(_Value, frozen=True):
    """Jobs of a namespace, and how many it has."""

    jobs: tuple[MarquezJob, ...]
    total_count: int


class GraphEdge(_Value, frozen=True):
    """From one node to another, by their ids."""

    origin: str
    destination: str


class _Node(_Value, frozen=True, tag_field="type"):
    id: str
    in_edges: tuple[GraphEdge, ...]
    out_edges: tuple[GraphEdge, ...]


class DatasetNode(_Node, frozen=True, tag="DATASET"):
    """A data set in a graph."""

    data: MarquezDataset


class JobNode(_Node, frozen=True, tag="JOB"):
    """A job in a graph."""

    data: MarquezJob


class InputField(_Value, frozen=True):
    """A column that reaches another, and how."""

    namespace: str
    dataset: str
    field: str
    transformation_type: str
    transformation_description: str = ""


class ColumnData(_Value, frozen=True):
    """A column, and those that its values come from."""

    namespace: str
    dataset: str
    field: str
    field_type: str = ""
    input_fields: tuple[InputField, ...] = ()


class ColumnNode(_Node, frozen=True, tag="DATASET_FIELD"):
    """A column in a graph."""

    data: ColumnData


class Graph(_Value, frozen=True):
    """Lineage of data sets and jobs."""

    graph: tuple[DatasetNode | JobNode, ...]


class ColumnGraph(_Value, frozen=True):
    """Lineage of columns."""

    graph: tuple[ColumnNode, ...]


class SearchResult(_Value, frozen=True):
    """A data set or a job that was found."""

    name: str
    type: str
    namespace: str
    node_id: str


class SearchResults(_Value, frozen=True):
    """Results, the best first, and how many there are in all."""

    total_count: int
    results: tuple[SearchResult, ...]
