"""Writing column lineage in Atlas' own form, after the processes that it belongs to."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pyapacheatlas.core import AtlasEntity

from shared.atlas.column_lineage import (
    COLUMN_TYPE,
    STEP_TYPE,
    STEPS_OF_PROCESS,
    ColumnLineageStep,
    OwnColumn,
    column_lineage,
)
from shared.atlas.entities import ProcessEntity
from shared.catalog.batches import batches
from shared.catalog.port import AssetKey
from shared.catalog.reading.edges import active_ends
from shared.errors import CatalogUnavailable

_MOST = 50
"""Entities of a call: Atlas takes 20 s for 1,000."""
_REMOVALS = 4
"""The most calls of one write that remove outdated steps: the time that a write may take is known before it begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writes:
    """The catalog's calls: create or update (guids by those that were sent, and the new ones), read, remove."""

    upload: Callable[[list[AtlasEntity]], tuple[dict[str, str], frozenset[str]]]
    by_names: Callable[..., dict[AssetKey, dict[str, Any]]]
    remove: Callable[[Sequence[str]], None]


def write_columns(
    catalog: Writes, processes: Sequence[ProcessEntity], assets: Mapping[AssetKey, str], written: Mapping[str, str]
) -> None:
    """Write the columns and steps of these processes, and remove their outdated steps.

    `assets` and `written` are guids: of the assets, and of the processes by qualified name. Columns are sent as well
    where they are known, which is how their guids are learned. Raises as the catalog does.
    """
    lineages = {process.qualified_name: column_lineage(process) for process in processes}
    columns = {column.qualified_name: column for each in lineages.values() for column in each.columns}
    known = _sent(catalog, {name: _column(column, assets) for name, column in columns.items()})
    steps = _sent(
        catalog,
        {
            step.qualified_name: _step(step, known, written[name])
            for name, each in lineages.items()
            for step in each.steps
        },
    )
    held = catalog.by_names((each.key for each in processes), related=True)
    found = (str(each["guid"]) for entity in held.values() for each in active_ends(entity, STEPS_OF_PROCESS))
    gone = [guid for guid in found if guid not in steps.values()]
    for some in islice(batches(gone, _MOST), _REMOVALS):
        catalog.remove(some)
    if len(gone) > _REMOVALS * _MOST:
        raise CatalogUnavailable("More columns are to go than one write takes away: it goes on", after=0, blames=False)


def calls_for_columns(processes: Sequence[ProcessEntity]) -> int:
    """The most calls that `write_columns` makes for these, without those that read the processes."""
    lineages = [column_lineage(process) for process in processes]
    columns = {column.qualified_name for each in lineages for column in each.columns}
    steps = {step.qualified_name for each in lineages for step in each.steps}
    return sum(-(-len(each) // _MOST) for each in (columns, steps)) + _REMOVALS


def _sent(catalog: Writes, entities: Mapping[str, AtlasEntity]) -> dict[str, str]:
    """Send these entities; returns their guids, by the same names."""
    guids: dict[str, str] = {}
    for names in batches(entities, _MOST):
        numbered = {str(-number): name for number, name in enumerate(names, start=1)}
        for guid, name in numbered.items():
            entities[name].guid = guid
        taken, _ = catalog.upload([entities[name] for name in names])
        if len(taken) < len(names):
            raise CatalogUnavailable("Not all columns were taken", after=0)
        guids |= {name: taken[guid] for guid, name in numbered.items()}
    return guids


def _column(column: OwnColumn, assets: Mapping[AssetKey, str]) -> AtlasEntity:
    owner = {"guid": assets[column.asset], "typeName": column.asset[0]}
    return AtlasEntity(
        name=column.name,
        typeName=COLUMN_TYPE,
        qualified_name=column.qualified_name,
        relationshipAttributes={"asset": owner},
    )


def _step(step: ColumnLineageStep, columns: Mapping[str, str], process: str) -> AtlasEntity:
    def reference(name: str) -> dict[str, str]:
        return {"guid": columns[name], "typeName": COLUMN_TYPE}

    return AtlasEntity(
        name=step.name,
        typeName=STEP_TYPE,
        qualified_name=step.qualified_name,
        attributes={"inputs": [reference(name) for name in step.inputs], "outputs": [reference(step.output)]},
        relationshipAttributes={"process": {"guid": process, "typeName": "Process"}},
    )
