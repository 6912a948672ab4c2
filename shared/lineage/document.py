"""The document of lineage: values, and their JSON.

Data sets, columns, processes and points of time are numbered by their place in the document. An edge refers to two
columns; the column with an empty name stands for all rows of its data set. Equal lineage gives equal documents and
equal bytes: every tuple is sorted.
"""

from datetime import datetime
from enum import StrEnum

import msgspec
from msgspec.structs import force_setattr

from shared.model import FROM_CATALOG, OPAQUE

FORMAT = 2
FOREIGN_NAMESPACE = "catalog"
"""The namespace of data sets and jobs that only the catalog names."""
NOT_SET = -1
"""Instead of the number of a point of time: since ever, or until now."""


class Kind(StrEnum):
    """How an input column reaches an output column. `OPAQUE`: at most, through code that Spark's plan does not show. A
    condition only decides which rows are written. `CATALOG`: another program wrote it to the catalog.
    """

    IDENTITY = "identity"
    TRANSFORMATION = "transformation"
    AGGREGATION = "aggregation"
    MASK = "mask"
    OPAQUE = "opaque"
    CONDITION = "condition"
    CATALOG = "catalog"


class Health(StrEnum):
    """How the last run of a process's job ended; `OVERDUE`: it did not start at its usual time."""

    GOOD = "good"
    FAILED = "failed"
    OVERDUE = "overdue"
    UNENDED = "unended"


class Dataset(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False, omit_defaults=True):
    """A data set of the catalog. `store` is the account, server or workspace it lies in, `zone` the container, database
    or schema in it; either may be empty. `placeholder`: its type is no store that the catalog scans. `owner`,
    `description` and `tags` are what events declare of it. `namespace` and `full_name`: how events call it (the
    first by name of several spellings); empty where only the history or a tag names it, and `catalog` with the
    qualified name where only the catalog does. `hierarchy`: the levels that events declare, from the highest to itself,
    as type and name. `written`: the time of the last run that wrote it, a number of `times`; `rows` and `size` (bytes):
    how much that run wrote, if its events say so. `tested`: the time of the last result of a quality test, a number of
    `times`; `passed_tests`: how many last passed.
    """

    qualified_name: str
    type: str
    name: str
    store: str = ""
    zone: str = ""
    placeholder: bool = False
    owner: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    namespace: str = ""
    full_name: str = ""
    hierarchy: tuple[tuple[str, str], ...] = ()
    rows: int | None = None
    size: int | None = None
    written: int = NOT_SET
    tested: int = NOT_SET
    passed_tests: int = 0

    @property
    def is_foreign(self) -> bool:
        """Whether only the catalog names it: a report, say, that another program makes."""
        return self.namespace == FOREIGN_NAMESPACE

    @property
    def spelling(self) -> str:
        """Namespace and name in events as one path; empty if the qualified name ends with that name."""
        name = self.full_name.strip("/")
        is_known = not self.namespace or self.qualified_name.rstrip("/").endswith(name)
        return "" if is_known else f"{self.namespace.rstrip('/')}/{name}"


class Column(msgspec.Struct, frozen=True, order=True, gc=False, array_like=True, omit_defaults=True):
    """A column of a data set, by the number of the data set. An empty name stands for all rows.

    `constant`: an exact process writes it from no column: a literal, or code without arguments.
    """

    dataset: int
    name: str
    type: str = ""
    constant: bool = False


class Process(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False, omit_defaults=True):
    """A process with the numbers of its inputs and outputs.

    `namespace` and `identity` are those of its job, which stay the same from run to run; empty where its qualified name
    has neither. `platform`, `workspace`, `job` and `link` say where it runs. `parsed_inputs`: inputs that only the SQL
    text names. `unresolved_tables`: tables of the SQL text whose place no event gives. `statement`: the SQL of its last
    run without literals, if it was asked for. `owner` and `description`: what events declare of its job. `exact`:
    Spark's own plan decided its columns, so none is missing. `catalog_type`: its type in the catalog, if another
    program wrote it there; no event has its flows and edges. `stated`: what else the events of its last run state, as
    pairs of a title and a text. Times are numbers of `times`.
    """

    qualified_name: str
    name: str
    namespace: str = ""
    identity: str = ""
    operations: tuple[str, ...] = ()
    platform: str = ""
    workspace: str = ""
    job: str = ""
    link: str = ""
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    parsed_inputs: tuple[int, ...] = ()
    unresolved_tables: tuple[str, ...] = ()
    generic_identity: bool = False
    exact: bool = False
    health: Health = Health.GOOD
    last_run: str = ""
    first_seen: int = NOT_SET
    last_seen: int = NOT_SET
    statement: str = ""
    owner: str = ""
    description: str = ""
    catalog_type: str = ""
    stated: tuple[tuple[str, str], ...] = ()


class Edge(msgspec.Struct, frozen=True, order=True, gc=False, array_like=True, omit_defaults=True):
    """One input column and the output column that it reaches through a process, from one point of time to another.

    `parsed`: no event has this edge, it was read from the SQL text. `steps`: OpenLineage's subtypes (IDENTITY,
    TRANSFORMATION, AGGREGATION, JOIN, FILTER …), OPAQUE and FROM_CATALOG. `description`: the expression, if it was
    asked for.
    """

    process: int
    input: int
    output: int
    kind: Kind
    masked: bool = False
    parsed: bool = False
    valid_from: int = NOT_SET
    valid_to: int = NOT_SET
    steps: tuple[str, ...] = ()
    description: str = ""

    @property
    def is_value(self) -> bool:
        """Whether the value itself arrives, be it masked, or may arrive (OPAQUE); a condition is none."""
        return self.kind is not Kind.CONDITION


class Flow(msgspec.Struct, frozen=True, order=True, gc=False, array_like=True, omit_defaults=True):
    """A process reads one data set and writes another, from one point of time to another."""

    process: int
    input: int
    output: int
    valid_from: int = NOT_SET
    valid_to: int = NOT_SET


class Tag(msgspec.Struct, frozen=True, order=True, gc=False, array_like=True):
    """A tag of a column, by the number of the column."""

    column: int
    name: str


class FailedTest(msgspec.Struct, frozen=True, order=True, gc=False, array_like=True, omit_defaults=True):
    """A quality test whose last result is a failure: the number of the data set, the name of the column (empty: the
    whole data set), the test, the time of the result in UTC (None: not asked for), the job that tested, and `error` or
    `warn` if an event says so.
    """

    dataset: int
    column: str
    name: str
    at: datetime | None = None
    job: str = ""
    severity: str = ""


class SchemaChange(msgspec.Struct, frozen=True, order=True, gc=False, array_like=True, omit_defaults=True):
    """A column that came, went or changed its type: the number of the data set, the name of the column, `added`,
    `removed` or `retyped`, when a run first saw it so (UTC), and its types before and after (empty: none).
    """

    dataset: int
    column: str
    change: str
    time: datetime
    old_type: str = ""
    new_type: str = ""


class LineageDocument(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """All of it. `source`: `record` or `lake`. `times`: the points of time that the rest refers to, oldest first, UTC.
    `history`: whether `flows` and `edges` have those that are no longer valid.
    """

    format: int
    source: str
    history: bool
    times: tuple[datetime, ...]
    datasets: tuple[Dataset, ...]
    columns: tuple[Column, ...]
    processes: tuple[Process, ...]
    flows: tuple[Flow, ...]
    edges: tuple[Edge, ...]
    tags: tuple[Tag, ...] = ()
    failed_tests: tuple[FailedTest, ...] = ()
    schema_changes: tuple[SchemaChange, ...] = ()


class UnreadableDocumentError(ValueError):
    """The bytes are no document of lineage, or one of another format."""


_ENCODER = msgspec.json.Encoder(order="deterministic")
_DECODER = msgspec.json.Decoder(LineageDocument)


def encoded(document: LineageDocument) -> bytes:
    """The document as JSON; equal documents give equal bytes."""
    return _ENCODER.encode(document)


def decoded(data: bytes) -> LineageDocument:
    """The document in these bytes. Raises UnreadableDocumentError."""
    try:
        document = _DECODER.decode(data)
    except msgspec.DecodeError as error:
        raise UnreadableDocumentError(f"this is no document of lineage: {error}") from error
    if document.format != FORMAT:
        raise UnreadableDocumentError(
            f"this document of lineage has format {document.format}, and this version reads format {FORMAT}:"
            " write it again with this version"
        )
    _share(document)
    return document


def _share(document: LineageDocument) -> None:
    """Let equal names, types and steps of a decoded document be one object: this saves a third of its memory."""
    texts: dict[str, str] = {}
    steps: dict[tuple[str, ...], tuple[str, ...]] = {}
    for column in document.columns:
        force_setattr(column, "name", texts.setdefault(column.name, column.name))
        force_setattr(column, "type", texts.setdefault(column.type, column.type))
    for edge in document.edges:
        force_setattr(edge, "steps", steps.setdefault(edge.steps, edge.steps))


def kind_of(kind: str, steps: tuple[str, ...], *, masked: bool) -> Kind:
    """The kind of an edge by OpenLineage's type (DIRECT or INDIRECT) and subtypes: the strongest step counts."""
    if kind != "DIRECT":
        return Kind.CONDITION
    if FROM_CATALOG in steps:
        return Kind.CATALOG
    if OPAQUE in steps:
        return Kind.OPAQUE
    if masked:
        return Kind.MASK
    strongest = (Kind.AGGREGATION, Kind.TRANSFORMATION, Kind.IDENTITY)
    return next((kind for kind in strongest if kind.name in steps), Kind.TRANSFORMATION)
