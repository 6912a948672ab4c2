"""A process with its assets replaced by their catalog matches. Pure."""

from collections.abc import Iterable, Mapping

from msgspec import structs

from shared.atlas.entities import ProcessEntity, process_entity
from shared.catalog.port import AssetKey
from shared.model import Asset, Column, Process
from shared.records.asset_matches import AssetMatch

_MAX = 3
"""Ambiguous data sets, and rivals of each, in a process's description."""
_MAX_NAME = 300


def resolved_entity(
    process: Process, found: Mapping[AssetKey, AssetMatch], *, with_indirect: bool
) -> ProcessEntity | None:
    """The entity of a process on its matched assets; None where its inputs and outputs match one asset."""
    named = resolve_names(process, found)
    if named is None:
        return None
    return process_entity(named, with_indirect=with_indirect, notes=_ambiguity_notes(process, found))


def resolve_names(process: Process, found: Mapping[AssetKey, AssetMatch]) -> Process | None:
    """The process with its assets and their columns renamed to the matches; its own name stays."""
    finals = {key: each.scanned for key, each in found.items() if each.scanned and each.scanned != key}
    if not any(asset.key in finals for asset in (*process.inputs, *process.outputs)):
        return process
    names = {own[1]: final[1] for own, final in finals.items()}
    outputs = _named(process.outputs, finals)
    sinks = {asset.key for asset in outputs}
    inputs = tuple(asset for asset in _named(process.inputs, finals) if asset.key not in sinks)
    if not inputs:
        return None
    read = {asset.qualified_name for asset in inputs}
    edges = (
        structs.replace(edge, input=_column(edge.input, names), output=_column(edge.output, names))
        for edge in process.columns
    )
    columns = tuple(sorted({edge for edge in edges if edge.input.qualified_name in read}))
    return structs.replace(process, inputs=inputs, outputs=outputs, columns=columns)


def _named(assets: Iterable[Asset], finals: Mapping[AssetKey, AssetKey]) -> tuple[Asset, ...]:
    """Each asset once: several may match one scanned asset."""
    known: dict[AssetKey, Asset] = {}
    for asset in assets:
        final = finals.get(asset.key, asset.key)
        known.setdefault(final, structs.replace(asset, type=final[0], qualified_name=final[1]))
    return tuple(sorted(known.values()))


def _column(column: Column, names: Mapping[str, str]) -> Column:
    name = names.get(column.qualified_name)
    return Column(qualified_name=name, column=column.column) if name else column


def _ambiguity_notes(process: Process, found: Mapping[AssetKey, AssetMatch]) -> tuple[str, ...]:
    """Sentences on data sets with several equally good matches, of which none was chosen."""
    ambiguous = [
        each
        for each in dict.fromkeys(asset.key for asset in (*process.inputs, *process.outputs))
        if each in found and found[each].rivals
    ]
    return tuple(
        f"Several assets may be {_short(own[1])}: {', '.join(_short(name) for _, name in found[own].rivals[:_MAX])}."
        for own in ambiguous[:_MAX]
    )


def _short(name: str) -> str:
    return name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}…"
