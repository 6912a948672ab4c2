"""Column edges out of the column lineage facet, versions 1-0-0 to 1-2-0.

1-0-0 lists input fields; 1-0-1 adds a mask for the whole output field; 1-1-0 adds transformations to each input
field; 1-2-0 adds `dataset`, what every output row depends on. Listeners put DIRECT types in `dataset` too, which cannot
be: everything there decides about rows, so all of it is indirect. Listeners before 1.37 copy what decides about rows
into every output field. What stands in each of several fields is told once here, as newer listeners do, so that a newer
listener changes no lineage; what a facet says of single fields stays with them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from shared.model import Asset, Column, ColumnEdge, EdgeKind
from shared.openlineage import InputField, MergedDataset, OutputField, Transformation

ALL_ROWS = ""
"""The output column of an edge that concerns every row."""

Resolve = Callable[[str, str], Asset | None]
"""From a data set's namespace and name to its asset; None for what is no data set of a user."""


def column_edges(output: MergedDataset, target: Asset, resolve: Resolve) -> tuple[ColumnEdge, ...]:
    """All edges that end in `output`, sorted, one for each pair of columns and kind."""
    return union_edges(_edges(output, target, resolve))


def union_edges(edges: Iterable[ColumnEdge]) -> tuple[ColumnEdge, ...]:
    """The edges once each, sorted; a pair is masked only when no edge carries the plain value."""
    masked: dict[tuple[Column, Column, EdgeKind], bool] = {}
    for edge in edges:
        key = (edge.input, edge.output, edge.kind)
        masked[key] = masked.get(key, True) and edge.masked
    return tuple(sorted(ColumnEdge(input=i, output=o, kind=kind, masked=mask) for (i, o, kind), mask in masked.items()))


def _edges(output: MergedDataset, target: Asset, resolve: Resolve) -> Iterator[ColumnEdge]:
    def edge(source: InputField, column: str, kind: EdgeKind, *, masked: bool) -> Iterator[ColumnEdge]:
        asset = resolve(source.namespace, source.name)
        if asset:
            yield ColumnEdge(
                input=Column(qualified_name=asset.qualified_name, column=source.field),
                output=Column(qualified_name=target.qualified_name, column=column),
                kind=kind,
                masked=masked,
            )

    copied = _copied_into_every_field(output)
    for column, fields in output.fields:
        for field in fields:
            for source in field.input_fields or ():
                for kind, by_rows, masked in _ways(field, source):
                    whole = by_rows and _place(source) in copied
                    yield from edge(source, ALL_ROWS if whole else column, kind, masked=masked)
    for source in output.rows:
        steps = source.transformations or ()
        masked = bool(steps) and all(step.masking is True for step in steps)
        yield from edge(source, ALL_ROWS, EdgeKind.INDIRECT, masked=masked)


_DECIDES_ABOUT_ROWS = frozenset({"JOIN", "FILTER", "GROUP_BY", "SORT"})


def _copied_into_every_field(output: MergedDataset) -> frozenset[tuple[str, str, str]]:
    """The columns that decide about rows in each of several output fields."""
    found: Counter[tuple[str, str, str]] = Counter()
    for _, fields in output.fields:
        sources = (source for field in fields for source in field.input_fields or ())
        found.update(
            {_place(source) for source in sources if any(map(_decides_about_rows, source.transformations or ()))}
        )
    several = len(output.fields) > 1
    return frozenset(place for place, times in found.items() if several and times == len(output.fields))


def _place(source: InputField) -> tuple[str, str, str]:
    return (source.namespace, source.name, source.field)


def _decides_about_rows(step: Transformation) -> bool:
    return step.type.upper() == EdgeKind.INDIRECT and step.subtype.upper() in _DECIDES_ABOUT_ROWS


def _ways(field: OutputField, source: InputField) -> Iterator[tuple[EdgeKind, bool, bool]]:
    """The ways in which one input field reaches one output field: kind, whether by deciding about rows, masked."""
    if not source.transformations:
        yield EdgeKind.DIRECT, False, field.transformation_type == "MASKED"
    for step in source.transformations or ():
        kind = EdgeKind.INDIRECT if step.type.upper() == EdgeKind.INDIRECT else EdgeKind.DIRECT
        yield kind, _decides_about_rows(step), step.masking is True
