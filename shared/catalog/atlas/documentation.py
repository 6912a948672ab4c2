"""The documentation port on Atlas v2: what people know of many data sets, a few calls for each hundred.

A data set comes with the guids of its columns, or of the `tabular_schema` that holds them; schemas and columns are read
by guid. Texts are not kept, only whether they exist. `contacts`, `labels` and `userDescription` are from Microsoft's
and Atlas' documentation of an entity; `contacts` was only read about, never seen.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from shared.atlas.columns import column_rule
from shared.catalog.atlas.columns import schema_of
from shared.catalog.batches import batches
from shared.catalog.connection.transport import SteadyAtlasClient
from shared.catalog.port import AssetKey
from shared.catalog.reading.edges import ACTIVE, active_ends
from shared.catalog.reading.entities import is_placed
from shared.catalog.reading.held import held_by_guid, held_by_name
from shared.completeness.documentation import CatalogDocumentation

_MOST_DATASETS = 200
"""Data sets whose answers are held in memory at a time."""

_DESCRIPTIONS = ("userDescription", "description", "comment")
_OWNERS = ("owner", "owners")


class AtlasDocumentation:
    """The documentation port over pyapacheatlas' client, which keeps the call rate."""

    def __init__(self, client: SteadyAtlasClient) -> None:
        self._client = client

    def documentation(self, keys: Iterable[AssetKey]) -> Iterator[tuple[AssetKey, CatalogDocumentation]]:
        """As the port says."""
        for batch in batches(keys, _MOST_DATASETS):
            entities = held_by_name(self._client, batch, related=True)
            columns = self._columns(entities)
            for key, entity in entities.items():
                yield key, documentation_of(entity, columns[key])

    def _columns(self, entities: Mapping[AssetKey, Mapping[str, Any]]) -> dict[AssetKey, list[Mapping[str, Any]]]:
        """The columns of each data set; those that are deleted meanwhile are left out."""
        schemas = {key: schema_of(each) for key, each in entities.items() if column_rule(key[0]).through_schema}
        held = self._by_guid([guid for guids in schemas.values() for guid in guids], related=True)
        ends = {
            key: [
                str(end["guid"])
                for holder in ([held[guid] for guid in schemas[key] if guid in held] if key in schemas else [each])
                for end in active_ends(holder, "columns")
            ]
            for key, each in entities.items()
        }
        found = self._by_guid([guid for guids in ends.values() for guid in guids], related=False)
        return {key: [found[guid] for guid in guids if guid in found] for key, guids in ends.items()}

    def _by_guid(self, guids: Iterable[str], *, related: bool) -> dict[str, Mapping[str, Any]]:
        held = held_by_guid(self._client, guids, related=related)
        return {guid: each for guid, each in held.items() if each.get("status", ACTIVE) == ACTIVE}


def documentation_of(entity: Mapping[str, Any], columns: Sequence[Mapping[str, Any]]) -> CatalogDocumentation:
    """The documentation of an entity and its columns, both as Atlas' JSON."""
    attributes = entity.get("attributes") or {}
    contacts = entity.get("contacts") or {}
    placed = bool(attributes) and is_placed(entity)
    return CatalogDocumentation(
        described=_is_described(entity) and not (placed and not _has_text(attributes, ("userDescription",))),
        placed=placed,
        owned=_has_text(attributes, _OWNERS) or bool(contacts.get("Owner")),
        tagged=any(each.get("classifications") or each.get("labels") for each in (entity, *columns)),
        columns=len(columns),
        described_columns=sum(map(_is_described, columns)),
    )


def _is_described(entity: Mapping[str, Any]) -> bool:
    return _has_text(entity.get("attributes") or {}, _DESCRIPTIONS)


def _has_text(attributes: Mapping[str, Any], names: Iterable[str]) -> bool:
    return any(str(attributes.get(name) or "").strip() for name in names)
