"""Column edges out of the column lineage facet, versions 1-0-0 to 1-2-0.

1-0-0 lists input fields; 1-0-1 adds a mask for the whole output field; 1-1-0 adds transformations to each input
field; 1-2-0 adds `dataset`, what every output row depends on. Listeners put DIRECT types in `dataset` too, which cannot
be: everything there decides about rows, so all of it is indirect. Listeners before 1.37 copy what decides about rows
into every output field; it is told once here, as newer ones do, so that a newer listener changes no lineage.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from shared.model import Asset, Column, ColumnEdge, EdgeKind
from shared.openlineage import InputField, MergedDataset, OutputField

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

    everywhere = _in_every_field(output)
    for column, fields in output.fields:
        for field in fields:
            for source in field.input_fields or ():
                for kind, masked in _kinds(field, source):
                    copied = kind == EdgeKind.INDIRECT and _place(source) in everywhere
                    yield from edge(source, ALL_ROWS if copied else column, kind, masked=masked)
    for source in output.rows:
        masks = [step.masking is True for step in source.transformations or ()]
        yield from edge(source, ALL_ROWS, EdgeKind.INDIRECT, masked=bool(masks) and all(masks))


_DECIDES_ABOUT_ROWS = frozenset({"JOIN", "FILTER", "GROUP_BY", "SORT"})


def _in_every_field(output: MergedDataset) -> frozenset[tuple[str, str, str]]:
    """The columns that decide about rows and were copied into each of several output fields."""
    found: Counter[tuple[str, str, str]] = Counter()
    for _, fields in output.fields:
        found.update(
            {
                _place(source)
                for field in fields
                for source in field.input_fields or ()
                if any(step.subtype.upper() in _DECIDES_ABOUT_ROWS for step in source.transformations or ())
            }
        )
    several = len(output.fields) > 1
    return frozenset(place for place, times in found.items() if several and times == len(output.fields))


def _place(source: InputField) -> tuple[str, str, str]:
    return (source.namespace, source.name, source.field)


def _kinds(field: OutputField, source: InputField) -> Iterator[tuple[EdgeKind, bool]]:
    """The kinds in which one input field reaches one output field, each with whether all of it is masked."""
    if not source.transformations:
        yield EdgeKind.DIRECT, field.transformation_type == "MASKED"
        return
    for kind in EdgeKind:
        steps = [step for step in source.transformations if (step.type.upper() == "INDIRECT") == (kind == "INDIRECT")]
        if steps:
            yield kind, all(step.masking is True for step in steps)
