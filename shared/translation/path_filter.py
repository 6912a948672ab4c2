"""Remove data sets from a process that path settings exclude.

Applied last, to the aggregated process: lineage still passes through excluded tables, records stay complete, and a
changed setting needs no replay of events.
"""

from msgspec.structs import replace

from shared.model import Asset, Process
from shared.openlineage.glob_filter import MATCH_ALL, GlobFilter
from shared.openlineage.selection import dataset_names


def asset_names(asset: Asset) -> tuple[str, ...]:
    """The names that path patterns match: the qualified name, the events' spellings, and names of the table."""
    return (asset.qualified_name, *dataset_names(asset.namespace, asset.name), *asset.tables)


def filter_paths(process: Process | None, paths: GlobFilter) -> Process | None:
    """The process without rejected data sets and their columns; None if no input or no output is left."""
    if process is None or paths == MATCH_ALL:
        return process
    inputs = tuple(asset for asset in process.inputs if paths.accepts(asset_names(asset)))
    outputs = tuple(asset for asset in process.outputs if paths.accepts(asset_names(asset)))
    if not inputs or not outputs:
        return None
    if len(inputs) == len(process.inputs) and len(outputs) == len(process.outputs):
        return process
    sources = {asset.qualified_name for asset in inputs}
    sinks = {asset.qualified_name for asset in outputs}
    return replace(
        process,
        inputs=inputs,
        outputs=outputs,
        columns=tuple(
            edge
            for edge in process.columns
            if edge.input.qualified_name in sources | sinks and edge.output.qualified_name in sinks
        ),
        sourceless=tuple(each for each in process.sourceless if each.qualified_name in sinks),
        parsed=tuple(name for name in process.parsed if name in sources),
        schemas=tuple(each for each in process.schemas if each.qualified_name in sources | sinks),
    )
