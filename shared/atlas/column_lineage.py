"""Column lineage in Atlas' own form: an entity for each column, and a process for each output column.

Atlas' web page does not read `columnMapping`; it draws processes between data sets. So a column is a data set that its
asset owns, and a step is a process that the job's process owns, as in Hive's hook (`hive_column` and
`hive_column_lineage`). Atlas deletes both with their owners.

Pure. The steps show the pairs of the process's `columnMapping`, and so keep within its limit of 32 KB.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from shared.atlas.columns import name_within
from shared.atlas.entities import ProcessEntity, column_pairs

COLUMN_TYPE = "throughline_column"
STEP_TYPE = "throughline_column_lineage"
COLUMNS_OF_ASSET = "throughlineColumns"
"""A data set's attribute that holds its columns; theirs is `asset`."""
STEPS_OF_PROCESS = "throughlineColumnLineages"
"""A process's attribute that holds its steps; theirs is `process`."""

AssetName = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class OwnColumn:
    """A column, and the type and qualified name of its asset."""

    qualified_name: str
    name: str
    asset: AssetName


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ColumnLineageStep:
    """How one column is made: the qualified names of its input columns, and of itself (`output`).

    Its own qualified name has a digest of these, so a step never changes: another one replaces it.
    """

    qualified_name: str
    name: str
    inputs: tuple[str, ...]
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnLineage:
    """The columns that a process reads and writes, and the steps between them: both sorted, without duplicates."""

    columns: tuple[OwnColumn, ...] = ()
    steps: tuple[ColumnLineageStep, ...] = ()


def column_lineage(process: ProcessEntity) -> OwnLineage:
    """A process's column mapping in Atlas' own form."""
    sources = {name: (type_name, name) for type_name, name in reversed(process.inputs)}
    sinks = {name: (type_name, name) for type_name, name in reversed(process.outputs)}
    made_of: dict[OwnColumn, set[OwnColumn]] = {}
    for (source_name, column), (sink_name, sink_column) in column_pairs(dict(process.attributes).get("columnMapping")):
        source, sink = sources.get(source_name), sinks.get(sink_name)
        if source and sink:  # a mapping names only data sets that the process reads and writes
            made_of.setdefault(own_column(sink, sink_column), set()).add(own_column(source, column))
    return OwnLineage(
        columns=tuple(sorted({*made_of, *(column for inputs in made_of.values() for column in inputs)})),
        steps=tuple(sorted(_step(process, output, inputs) for output, inputs in made_of.items())),
    )


def own_column(asset: AssetName, column: str) -> OwnColumn:
    """A column of an asset, with the names of its entity."""
    short_name = asset[1].rstrip("/").rpartition("/")[2]
    return OwnColumn(
        qualified_name=name_within(f"{column}@{asset[0]}:{asset[1]}"),
        name=name_within(f"{short_name}.{column}"),
        asset=asset,
    )


def _step(process: ProcessEntity, output: OwnColumn, inputs: Iterable[OwnColumn]) -> ColumnLineageStep:
    names = tuple(sorted(column.qualified_name for column in inputs))
    digest = hashlib.sha256(msgspec.json.encode((names, output.qualified_name))).hexdigest()[:32]
    return ColumnLineageStep(
        qualified_name=name_within(f"{process.qualified_name}#{digest}"),
        name=output.name,
        inputs=names,
        output=output.qualified_name,
    )
