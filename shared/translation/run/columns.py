"""Column edges out of the column lineage facet, versions 1-0-0 to 1-2-0.

1-0-0 lists input fields; 1-0-1 adds a mask for the whole output field; 1-1-0 adds transformations to each input
field; 1-2-0 adds `dataset`, what every output row depends on. Listeners put DIRECT types in `dataset` too, which cannot
be: everything there decides about rows, so all of it is indirect. Listeners before 1.37 copy what decides about rows
(joins, filters, groups, sorts) into every output field: it is told once here, as newer listeners do, so that a newer
listener changes no lineage. Conditions and windows concern the field in which they stand.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from msgspec.structs import replace

from shared.model import DIRECT, INDIRECT, Asset, Column, ColumnEdge, EdgeKind
from shared.openlineage.run import MergedDataset
from shared.openlineage.wire import InputField, OutputField, Transformation

ALL_ROWS = ""
"""The output column of an edge that concerns every row."""

Resolve = Callable[[str, str], Asset | None]
"""From a data set's namespace and name to its asset; None for what is no data set of a user."""


Schemas = Mapping[str, Sequence[str]]
"""The columns of data sets, as their schemas spell them, by the assets' qualified names."""


def column_edges(
    output: MergedDataset, target: Asset, resolve: Resolve, schemas: Schemas | None = None
) -> tuple[ColumnEdge, ...]:
    """All edges that end in `output`, sorted, one for each pair of columns and kind; columns are spelled as `schemas`
    and the output's own schema have them.
    """
    return union_edges(_edges(output, target, resolve, schemas or {}))


def union_edges(edges: Iterable[ColumnEdge]) -> tuple[ColumnEdge, ...]:
    """The edges once each, sorted, one for each pair of columns and kind: masked only when none carries the plain
    value, and by all the ways that any of them names. What events tell goes before what was parsed.
    """
    found: list[ColumnEdge] = []
    for edge in sorted(edges):  # by input, output and kind first: what is one stands side by side
        one = found[-1] if found else None
        if one is None or edge.output != one.output or edge.input != one.input or edge.kind != one.kind:
            found.append(edge)
        elif one.parsed != edge.parsed:
            found[-1] = edge if one.parsed else one
        elif one != edge:
            found[-1] = replace(one, masked=one.masked and edge.masked, how=tuple(sorted({*one.how, *edge.how})))
    return tuple(found)


def sourceless(output: MergedDataset, target: Asset, edges: Iterable[ColumnEdge]) -> tuple[Column, ...]:
    """The columns in the schema of `output` that no value reaches; none where the events tell of no columns at all."""
    if not output.fields:
        return ()
    reached = {edge.output.column for edge in edges if edge.kind is DIRECT}
    missing = {*output.columns} - reached
    return tuple([Column(qualified_name=target.qualified_name, column=name) for name in sorted(missing)])


_OfRows = set[tuple[Column, bool, tuple[str, ...]]]
"""What decides about rows, each once: input column, whether masked, and the steps' words."""


def _edges(output: MergedDataset, target: Asset, resolve: Resolve, schemas: Schemas) -> list[ColumnEdge]:
    ends = _Ends(output=output, target=target, resolve=resolve, schemas=schemas)
    of_rows: _OfRows = set()
    found = _of_fields(output, ends, of_rows)
    for source in output.rows:
        start = ends.input(source)
        if start:
            steps = source.transformations or ()
            masked = bool(steps) and all(step.masking is True for step in steps)
            how = tuple(sorted({step.subtype.upper() for step in steps if step.type.upper() == INDIRECT}))
            of_rows.add((start, masked, how))
    every_row = Column(qualified_name=target.qualified_name, column=ALL_ROWS)
    for start, masked, how in of_rows:
        found.append(ColumnEdge(input=start, output=every_row, kind=INDIRECT, masked=masked, how=how))
    return found


def _of_fields(output: MergedDataset, ends: "_Ends", of_rows: _OfRows) -> list[ColumnEdge]:
    """The edges to single columns; what else is told of these goes to `of_rows`."""
    found: list[ColumnEdge] = []
    ways = _Ways()
    for column, fields in output.fields:
        if column in METADATA and column not in output.columns:
            continue
        end = ends.output(column)
        for field in fields:
            for source in field.input_fields or ():
                start = ends.input(source)
                if start is None:
                    continue
                steps = source.transformations
                for kind, by_rows, masked, how in map(ways.__getitem__, steps) if steps else (_before_1_1(field),):
                    if by_rows:
                        of_rows.add((start, masked, how))
                    else:
                        found.append(ColumnEdge(input=start, output=end, kind=kind, masked=masked, how=how))
    return found


class _Columns(dict[str, Column | None]):
    """The columns of a data set that others come from, by their names in events, each made when it is asked for: None
    for what is no column of a user, and for all of what is no data set of a user (`name` is None).
    """

    def __init__(self, name: str | None, schemas: Schemas) -> None:
        super().__init__()
        self._name = name
        self._spelled = _Spelling(schemas.get(name, ()) if name is not None else ())

    def __missing__(self, field: str) -> Column | None:
        column = None
        if self._name is not None and field not in METADATA:
            column = Column(qualified_name=self._name, column=self._spelled[field])
        self[field] = column
        return column


class _Ends:
    """The columns at the ends of the edges into one output, made once each."""

    def __init__(self, *, output: MergedDataset, target: Asset, resolve: Resolve, schemas: Schemas) -> None:
        self._target = target
        self._resolve = resolve
        self._schemas = schemas
        self._spelled = _Spelling(output.columns)
        self._sources: dict[tuple[str, str], _Columns] = {}

    def input(self, field: InputField) -> Column | None:
        """The column that a field is; None for what is no data set or column of a user."""
        place = (field.namespace, field.name)
        columns = self._sources.get(place)
        if columns is None:
            asset = self._resolve(*place)
            columns = self._sources[place] = _Columns(asset.qualified_name if asset else None, self._schemas)
        return columns[field.field]

    def output(self, column: str) -> Column:
        """The output's column of this name, as its schema spells it."""
        return Column(qualified_name=self._target.qualified_name, column=self._spelled[column])


class _Spelling(dict[str, str]):
    """A schema's spelling of each column: Spark takes a column in any case, and so do events. Not of those that differ
    in case alone, which a case-sensitive session can have. Most are asked for as they are spelled.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        super().__init__(zip(columns, columns, strict=True))
        self._columns = columns

    def __missing__(self, column: str) -> str:
        spelled = self[column] = self._folded.get(column.lower()) or column
        return spelled

    @cached_property
    def _folded(self) -> dict[str, str]:
        spelled: dict[str, str] = {}
        for column in self._columns:
            folded = column.lower()
            spelled[folded] = column if folded not in spelled else ""
        return spelled


METADATA = frozenset(
    {
        *("_metadata", "_metadata.file_path", "_metadata.file_name", "_metadata.file_size"),
        *("_metadata.file_block_start", "_metadata.file_block_length", "_metadata.file_modification_time"),
        *("_metadata.row_index", "_metadata.row_id", "_metadata.row_commit_version"),
        *("__delta_internal_row_index", "__delta_internal_is_row_deleted", "__internal_idx_col"),
        *("_change_type", "_commit_version", "_commit_timestamp"),
        *("_file", "_pos", "_spec_id", "_partition", "_deleted"),
    }
)
"""What a table format or Spark itself adds to the columns of a user's table, and no user's table has."""


_DECIDES_ABOUT_ROWS = frozenset({"JOIN", "FILTER", "GROUP_BY", "SORT"})


_Way = tuple[EdgeKind, bool, bool, tuple[str, ...]]
"""Kind, whether by deciding about rows, masked, and the step's own word."""


class _Ways(dict[Transformation, _Way]):
    """How each step acts, looked at once: there are a dozen different ones."""

    def __missing__(self, step: Transformation) -> _Way:
        indirect, how = step.type.upper() == INDIRECT, step.subtype.upper()
        by_rows = indirect and how in _DECIDES_ABOUT_ROWS
        way = INDIRECT if indirect else DIRECT, by_rows, step.masking is True, (how,) if how else ()
        self[step] = way
        return way


def _before_1_1(field: OutputField) -> _Way:
    """How a source reaches a field where its steps are not told."""
    word = (field.transformation_type or "").upper()
    return DIRECT, False, word == "MASKED", (word,) if word else ()
