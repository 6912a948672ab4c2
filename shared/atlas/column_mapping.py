"""Reading `columnMapping`: the attribute of a process in which Purview keeps column lineage, a JSON string.

Format: `[{"DatasetMapping": {"Source": name, "Sink": name}, "ColumnMapping": [{"Source": column, "Sink": column}, …]}]`
with qualified names; `shared/atlas/entities.py` writes it.
"""

import msgspec

Column = tuple[str, str]
"""A data set's qualified name, and one of its columns."""


class _Ends(msgspec.Struct, frozen=True):
    source: str = msgspec.field(name="Source")
    sink: str = msgspec.field(name="Sink")


class _Mapping(msgspec.Struct, frozen=True):
    assets: _Ends = msgspec.field(name="DatasetMapping")
    columns: tuple[_Ends, ...] = msgspec.field(name="ColumnMapping")


_decode = msgspec.json.Decoder(tuple[_Mapping, ...]).decode


def column_pairs(mapping: object) -> tuple[tuple[Column, Column], ...]:
    """The pairs of an input and an output column. Empty for no text, and for what another program wrote otherwise."""
    if not isinstance(mapping, str) or not mapping:
        return ()
    try:
        found = _decode(mapping)
    except msgspec.DecodeError:
        return ()
    return tuple(
        ((each.assets.source, pair.source), (each.assets.sink, pair.sink)) for each in found for pair in each.columns
    )
