"""Remove data sets from a process that path settings exclude.

Applied last, to the aggregated process: lineage still passes through excluded tables, records stay complete, and a
changed setting needs no replay of events. The catalog gets a process without them; whoever judges lineage gets one in
which `EXCLUDED` stands for the sources that were left out, so that a filter never makes lineage look clean.
"""

from msgspec.structs import replace

from shared.model import ANY_EXCLUDED, EXCLUDED, Asset, Process
from shared.openlineage.selection import MATCH_ALL, GlobFilter
from shared.translation.process.union import union_edges


def asset_names(asset: Asset) -> tuple[str, ...]:
    """The names that path patterns match: the qualified name, the events' spellings, and names of the table."""
    spelled = f"{asset.namespace.rstrip('/')}/{asset.name.lstrip('/')}"
    return (asset.qualified_name, asset.name, spelled, *asset.tables)


def with_excluded(process: Process | None, paths: GlobFilter) -> Process | None:
    """The process without rejected outputs, and with EXCLUDED in place of rejected inputs and their columns; None if no
    output is left.
    """
    if process is None or paths == MATCH_ALL:
        return process
    inputs = tuple(asset for asset in process.inputs if paths.accepts(asset_names(asset)))
    outputs = tuple(asset for asset in process.outputs if paths.accepts(asset_names(asset)))
    if not outputs:
        return None
    if len(inputs) == len(process.inputs) and len(outputs) == len(process.outputs):
        return process
    sinks = {asset.qualified_name for asset in outputs}
    kept_sinks = sinks | {asset.qualified_name for asset in inputs}
    return replace(
        process,
        inputs=tuple(sorted((*inputs, EXCLUDED))) if len(inputs) < len(process.inputs) else inputs,
        outputs=outputs,
        columns=union_edges(
            edge if edge.input.qualified_name in kept_sinks else replace(edge, input=ANY_EXCLUDED, expressions=())
            for edge in process.columns
            if edge.output.qualified_name in sinks
        ),
        sourceless=tuple(column for column in process.sourceless if column.qualified_name in sinks),
        parsed=tuple(name for name in process.parsed if name in kept_sinks),
        schemas=tuple(schema for schema in process.schemas if schema.qualified_name in kept_sinks),
    )


def published(process: Process | None) -> Process | None:
    """The process as the catalog gets it: without EXCLUDED and its columns; None if it has no other input."""
    if process is None or EXCLUDED not in process.inputs:
        return process
    inputs = tuple(asset for asset in process.inputs if asset != EXCLUDED)
    columns = tuple(edge for edge in process.columns if edge.input != ANY_EXCLUDED)
    return replace(process, inputs=inputs, columns=columns) if inputs else None
