"""Column edges out of the column lineage facet, versions 1-0-0 to 1-2-0.

1-0-0 lists input fields; 1-0-1 adds a mask for the whole output field; 1-1-0 adds transformations to each input
field; 1-2-0 adds `dataset`, what every output row depends on. Listeners put DIRECT types in `dataset` too, which cannot
be: everything there decides about rows, so all of it is indirect. Listeners before 1.37 copy what decides about rows
(joins, filters, groups, sorts) into every output field: it is told once here, as newer listeners do, so that a newer
listener changes no lineage. Conditions and windows concern the field in which they stand.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from shared.model import Asset, Column, ColumnEdge, EdgeKind
from shared.openlineage import InputField, MergedDataset, OutputField

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
    reached = {edge.output.column for edge in edges if edge.kind is EdgeKind.DIRECT}
    return tuple(
        Column(qualified_name=target.qualified_name, column=name) for name in sorted({*output.columns} - reached)
    )


def _edges(output: MergedDataset, target: Asset, resolve: Resolve, schemas: Schemas) -> list[ColumnEdge]:
    if not output.fields and not output.rows:
        return []
    found: list[ColumnEdge] = []
    ends = _Ends(output=output, target=target, resolve=resolve, schemas=schemas)
    every_row = ends.output(ALL_ROWS)
    for column, fields in output.fields:
        if column in METADATA and column not in output.columns:
            continue
        end = ends.output(column)
        for field in fields:
            for source in field.input_fields or ():
                start = ends.input(source)
                if start:
                    found += [
                        ColumnEdge(input=start, output=every_row if by_rows else end, kind=kind, masked=masked, how=how)
                        for kind, by_rows, masked, how in _ways(field, source)
                    ]
    for source in output.rows:
        start = ends.input(source)
        if start:
            steps = source.transformations or ()
            masked = bool(steps) and all(step.masking is True for step in steps)
            ways = sorted({step.subtype.upper() for step in steps if step.type.upper() == EdgeKind.INDIRECT})
            found.append(
                ColumnEdge(input=start, output=every_row, kind=EdgeKind.INDIRECT, masked=masked, how=tuple(ways))
            )
    return found


class _Source(msgspec.Struct, frozen=True, kw_only=True):
    """A data set that columns come from: its qualified name (None of what is no data set of a user), how its schema
    spells them, and the columns made so far.
    """

    name: str | None
    spelled: dict[str, str]
    columns: dict[str, Column | None]


class _Ends:
    """The columns at the ends of the edges into one output, made once each."""

    def __init__(self, *, output: MergedDataset, target: Asset, resolve: Resolve, schemas: Schemas) -> None:
        self._target = target
        self._resolve = resolve
        self._schemas = schemas
        self._spelled = _spelling(output.columns)
        self._sources: dict[tuple[str, str], _Source] = {}

    def input(self, field: InputField) -> Column | None:
        """The column that a field is; None for what is no data set or column of a user."""
        place = (field.namespace, field.name)
        source = self._sources.get(place) or self._source(place)
        if field.field in source.columns:
            return source.columns[field.field]
        column = None
        if source.name is not None and field.field not in METADATA:
            spelled = source.spelled.get(field.field.lower(), field.field)
            column = Column(qualified_name=source.name, column=spelled)
        source.columns[field.field] = column
        return column

    def _source(self, place: tuple[str, str]) -> _Source:
        asset = self._resolve(*place)
        name = asset.qualified_name if asset else None
        spelled = _spelling(self._schemas.get(name, ())) if name else {}
        source = self._sources[place] = _Source(name=name, spelled=spelled, columns={})
        return source

    def output(self, column: str) -> Column:
        """The output's column of this name, as its schema spells it."""
        name = self._spelled.get(column.lower(), column)
        return Column(qualified_name=self._target.qualified_name, column=name)


def _spelling(columns: Sequence[str]) -> dict[str, str]:
    """The schema's spelling of each column, by its lower case: Spark takes a column by any, and so do events. Not of
    those that differ in case alone, which a case-sensitive session can have.
    """
    spelled = dict(zip(map(str.lower, columns), columns, strict=True))
    if len(spelled) == len(columns):
        return spelled
    spelled = {}
    for column in columns:
        folded = column.lower()
        spelled[folded] = column if folded not in spelled else ""
    return {folded: column for folded, column in spelled.items() if column}


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


def _ways(field: OutputField, source: InputField) -> Sequence[_Way]:
    """The ways in which one input field reaches one output field."""
    if source.transformations:
        return [
            (_way if len(step.subtype) <= _LONGEST_WORD else _way.__wrapped__)(
                step.type, step.subtype, step.masking is True
            )
            for step in source.transformations
        ]
    word = (field.transformation_type or "").upper()
    return ((EdgeKind.DIRECT, False, word == "MASKED", (word,) if word else ()),)


_LONGEST_WORD = 64
"""Characters: what is longer is no step's word, and is not remembered."""


@lru_cache(maxsize=256)
def _way(kind: str, word: str, masked: bool) -> _Way:
    """How a step acts; there are a dozen different ones."""
    indirect, how = kind.upper() == EdgeKind.INDIRECT, word.upper()
    by_rows = indirect and how in _DECIDES_ABOUT_ROWS
    return EdgeKind.INDIRECT if indirect else EdgeKind.DIRECT, by_rows, masked, (how,) if how else ()
