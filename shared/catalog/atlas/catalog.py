"""The catalog port on Atlas v2: Microsoft Purview, Apache Atlas, and the local catalog speak it.

Entities are made with pyapacheatlas' classes, here and nowhere else.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import Any

from pyapacheatlas.core import AtlasEntity, AtlasProcess

from shared.atlas.columns import SCHEMA_TYPE, ColumnEntity, column_rule, schema_name
from shared.atlas.entities import PROCESS_TYPE, PROMISE_WORDS, AssetEntity, ProcessEntity, owner_to_write
from shared.atlas.types import MANAGED
from shared.catalog.atlas.answers import (
    ACTIVE,
    NOT_FOUND,
    active_ends,
    description_of,
    foreign_process_of,
    held_by_guid,
    held_by_name,
    in_queries,
    is_foreign,
    is_placed,
    links_of,
    node_of,
    process_links_of,
    process_of,
    shown,
)
from shared.catalog.atlas.columns import (
    Writes,
    calls_for_columns,
    columns_alone,
    schema_change,
    schema_of,
    with_columns,
    write_columns,
)
from shared.catalog.atlas.search import AtlasSearch
from shared.catalog.connection.dialect import KEEP_OTHERS
from shared.catalog.connection.transport import SteadyAtlasClient
from shared.catalog.port import (
    MOST_GUIDS,
    AssetKey,
    ForeignProcess,
    HeldAsset,
    HeldProcess,
    Placeholder,
    ProcessLinks,
    batches,
    calls_for_guids,
)
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.translation.process.identity import OURS

_MOST_COLUMNS = 50
"""Columns in one call."""


class AtlasCatalog(AtlasSearch):
    """The catalog port over pyapacheatlas' client. What is written (only ever what is ours) goes into `collection`, if
    the server has collections; nothing else is ever moved, since assets of scans are only referred to.
    """

    def __init__(self, client: SteadyAtlasClient, *, collection: str = "", own_columns: bool = False) -> None:
        """`own_columns`: column lineage is written in a plain Atlas' own form too."""
        super().__init__(client)
        self._collection = collection
        self._own_columns = own_columns
        self._managed: bool | None = None

    def find(self, keys: Iterable[AssetKey]) -> dict[AssetKey, str]:
        """As the port says."""
        return {key: asset.guid for key, asset in self.look_up(keys).items()}

    def look_up(self, keys: Iterable[AssetKey]) -> dict[AssetKey, HeldAsset]:
        """As the port says. Reads by unique attribute, which sees every write at once, unlike search."""
        entities = self._held(keys)
        return {key: HeldAsset(guid=str(entity["guid"]), placed=is_placed(entity)) for key, entity in entities.items()}

    def create_assets(self, assets: Sequence[AssetEntity]) -> dict[AssetKey, str]:
        """As the port says."""
        entity_groups = with_columns(assets)
        guids, _ = self._upload([entity for entities in entity_groups for entity in entities])
        return {
            asset.key: guids[entities[0].guid]
            for asset, entities in zip(assets, entity_groups, strict=True)
            if entities[0].guid in guids
        }

    def describe_placeholder(self, asset: AssetEntity, *, bare: bool = False) -> bool:
        """As the port says."""
        self._client.forget_tries()
        change = self._changes([asset], frozenset([asset.key] if bare else ())).get(asset.key)
        if change is None:
            return False
        asset, changed, removed = change
        self._upload_all(with_columns([replace(asset, columns=asset.columns[:1])])[0])
        for batch in batches(changed, _MOST_COLUMNS):
            self._upload_all(columns_alone(asset, batch))
        self.remove(removed)
        return True

    def up_to_date(
        self, assets: Sequence[AssetEntity], *, bare: frozenset[AssetKey] = frozenset()
    ) -> frozenset[AssetKey]:
        """As the port says."""
        return frozenset(asset.key for asset in assets) - self._changes(assets, bare).keys()

    def _changes(
        self, assets: Sequence[AssetEntity], bare_keys: frozenset[AssetKey]
    ) -> dict[AssetKey, tuple[AssetEntity, tuple[ColumnEntity, ...], tuple[str, ...]]]:
        """What describing these placeholders changes, where it changes something: each with the owner that may be
        written, the columns to write, and the guids of those to remove.
        """
        schemas = {asset.key for asset in assets if asset.columns or asset.key in bare_keys}
        existing = self._held(asset.key for asset in assets if asset.key not in schemas)
        existing |= self._held(sorted(schemas), related=True)
        existing = {key: entity for key, entity in existing.items() if is_placed(entity)}
        columns = self._columns_of([asset for asset in assets if asset.key in schemas & existing.keys()], existing)
        changes = {}
        for asset in assets:
            if entity := existing.get(asset.key):
                changed, removed = schema_change(asset, columns[asset.key]) if asset.key in columns else ((), ())
                if changed or removed or description_of(entity) != dict(asset.attributes)["description"]:
                    changes[asset.key] = _beside_others(asset, entity), changed, removed
        return changes

    def _upload_all(self, entities: list[AtlasEntity]) -> None:
        guids, _ = self._upload(entities)
        if any(entity.guid not in guids for entity in entities):
            raise CatalogRefused(status=200, code="", detail="an entity was given no guid")

    def _columns_of(
        self, assets: Sequence[AssetEntity], existing: Mapping[AssetKey, Mapping[str, Any]]
    ) -> dict[AssetKey, list[Mapping[str, Any]]]:
        """The columns that each of these placeholders has. A schema that is not attached is read only where columns are
        to be written: it may be left from an earlier placeholder of the same name.
        """
        schemas = {
            asset.key: (SCHEMA_TYPE, schema_name(asset.qualified_name))
            for asset in assets
            if column_rule(asset.type).through_schema and (asset.columns or schema_of(existing[asset.key]))
        }
        schema_entities = self._held(schemas.values(), related=True)
        holders = {asset.key: existing[asset.key] for asset in assets}
        holders |= {key: schema_entities.get(schema, {}) for key, schema in schemas.items()}
        guids = {key: [str(end["guid"]) for end in active_ends(holder, "columns")] for key, holder in holders.items()}
        columns: dict[str, Mapping[str, Any]] = {
            str(column["guid"]): column
            for batch in batches(chain.from_iterable(guids.values()), _MOST_COLUMNS)
            for column in self._client.get_entity(guid=list(batch), ignoreRelationships=True)["entities"]
        }
        return {key: [columns[guid] for guid in column_guids if guid in columns] for key, column_guids in guids.items()}

    def _held(self, keys: Iterable[AssetKey], *, related: bool = False) -> dict[AssetKey, dict[str, Any]]:
        return held_by_name(self._client, keys, related=related)

    def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
        """As the port says. Inputs and outputs are sent in full, since an array replaces what was there.

        Where deletes are soft, Atlas keeps showing what has left, and takes no notice of what returns: what was not
        created is read back, and what still shows something else is deleted and made again, with a new guid.
        """

        def references(keys: tuple[AssetKey, ...]) -> list[dict[str, str]]:
            return [{"typeName": key[0], "guid": guids[key]} for key in keys]

        self._client.forget_tries()
        managed = self._has_managed_group()
        owners = self._owners(processes)
        entities = [
            AtlasProcess(
                name=process.shown["name"],
                typeName=process.type,
                qualified_name=process.qualified_name,
                inputs=references(process.inputs),
                outputs=references(process.outputs),
                guid=str(-index),
                attributes={**process.shown, **owners.get(process.key, {})},
                **_origin(process, managed=managed),
            )
            for index, process in enumerate(processes, start=1)
        ]
        uploaded, created = self._upload(entities, KEEP_OTHERS if managed else {})
        names = [process.qualified_name for process in processes]
        written_guids = {
            name: uploaded[str(-index)] for index, name in enumerate(names, start=1) if str(-index) in uploaded
        }
        updated = [
            process for process in processes if written_guids.get(process.qualified_name, "") not in {"", *created}
        ]
        stale = self._stale(updated, guids)
        replaced = {name: process for name, process in zip(names, entities, strict=True) if name in stale}
        for batch in batches(replaced, MOST_GUIDS):
            new_guids = self._made_again(
                {name: replaced[name] for name in batch}, written_guids, KEEP_OTHERS if managed else {}
            )
            written_guids |= new_guids
        if self._own_columns:
            writes = Writes(upload=self._upload, by_names=self._held, remove=self.remove)
            write_columns(
                writes,
                [process for process in processes if process.qualified_name in written_guids],
                guids,
                written_guids,
            )
        return written_guids

    def _has_managed_group(self) -> bool:
        """Whether this is a Purview with our group of managed attributes. It is asked for once: naming a group that is
        not there would have the whole call refused.
        """
        if self._managed is None:
            try:
                if self._dialect.has_managed_attributes:
                    self._client.call("GET", f"/types/businessmetadatadef/name/{MANAGED}")
                self._managed = self._dialect.has_managed_attributes
            except CatalogRefused:
                self._managed = False
        return self._managed

    def _made_again(
        self, entities: Mapping[str, AtlasEntity], written_guids: Mapping[str, str], parameters: Mapping[str, str]
    ) -> dict[str, str]:
        """Delete processes, all in one call, and create them again; returns the new guids. A failure in between counts
        as a write with an unknown result, since the old entities may be gone.
        """
        self.remove([written_guids[name] for name in entities])
        try:
            uploaded, _ = self._upload(list(entities.values()), parameters)
        except (CatalogRefused, CatalogUnavailable) as error:
            delay = error.after if isinstance(error, CatalogUnavailable) else 0
            raise CatalogUnavailable(f"Processes were deleted to be made again: {error}", after=delay) from error
        if len(uploaded) < len(entities):
            raise CatalogUnavailable("Processes were deleted to be made again, and not all were taken", after=0)
        return {name: uploaded[entity.guid] for name, entity in entities.items()}

    def _stale(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> frozenset[str]:
        """The names of those of which a reader sees other inputs or outputs than these."""
        existing = self._held((process.key for process in processes), related=True)
        return frozenset(
            process.qualified_name
            for process in processes
            if (entity := existing.get(process.key))
            for side, keys in (("inputs", process.inputs), ("outputs", process.outputs))
            if shown(entity, side) != sorted((guids[key], ACTIVE) for key in dict.fromkeys(keys))
        )

    def _owners(self, processes: Sequence[ProcessEntity]) -> dict[AssetKey, dict[str, str]]:
        """The attribute `owner` of those for which events declare one, as far as it may be written."""
        declared = {process.key: process.owner for process in processes if process.owner}
        existing = self._held(declared) if declared else {}
        owners = {key: _owner(owner, existing.get(key)) for key, owner in declared.items()}
        return {key: {"owner": owner} for key, owner in owners.items() if owner is not None}

    def calls_to_write(self, processes: Sequence[ProcessEntity]) -> int:
        """As the port says: creating, reading back, deleting what is stale, and creating that again; then columns. The
        first write of all looks for the group of managed attributes too, and declared owners are compared.
        """
        reads = sum(1 for _ in in_queries(process.qualified_name for process in processes))
        looks = int(self._managed is None and self._dialect.has_managed_attributes)
        looks += reads if any(process.owner for process in processes) else 0
        made_again = 2 * calls_for_guids(len(processes))
        return 1 + looks + reads + made_again + (calls_for_columns(processes) + reads if self._own_columns else 0)

    def may_still_land(self) -> bool:
        """As the port says."""
        return self._client.may_still_land

    def read_processes(self, qualified_names: Iterable[str]) -> dict[str, HeldProcess]:
        """As the port says. Names that are not there are left out of the catalog's answer; relationships are asked for,
        since they alone show which inputs and outputs are only marked as removed.
        """
        entities = self._held(((PROCESS_TYPE, name) for name in qualified_names), related=True)
        return {
            key[1]: HeldProcess(guid=str(entity["guid"]), entity=process_of(entity)) for key, entity in entities.items()
        }

    def delete_process(self, qualified_name: str) -> None:
        """As the port says."""
        self._client.forget_tries()
        try:
            self._client.delete_entity(typeName=PROCESS_TYPE, qualifiedName=qualified_name)
        except CatalogRefused as error:
            if error.status != NOT_FOUND:
                raise

    def placeholders(self, keys: Iterable[AssetKey]) -> dict[AssetKey, Placeholder]:
        """As the port says."""
        entities = self._held(keys, related=True)
        return {
            key: Placeholder(guid=str(entity["guid"]), links=links_of(entity), parts=schema_of(entity))
            for key, entity in entities.items()
            if is_placed(entity)
        }

    def remove(self, guids: Sequence[str]) -> None:
        """As the port says."""
        for batch in batches(guids, MOST_GUIDS):
            self._client.delete_entity(guid=list(batch))

    def process_links(self, keys: Iterable[AssetKey]) -> dict[AssetKey, ProcessLinks]:
        """As the port says."""
        return {key: process_links_of(entity) for key, entity in self._held(keys, related=True).items()}

    def process_names(self, guids: Iterable[str]) -> frozenset[str]:
        """As the port says."""
        entities = held_by_guid(self._client, guids, related=False).values()
        nodes = [node_of(entity) for entity in entities if entity.get("status", ACTIVE) == ACTIVE]
        return frozenset(node.qualified_name for node in nodes if node.qualified_name.startswith(OURS))

    def foreign_processes(self, guids: Iterable[str]) -> dict[str, ForeignProcess]:
        """As the port says."""
        entities = held_by_guid(self._client, guids, related=True)
        return {
            guid: foreign_process_of(entity)
            for guid, entity in entities.items()
            if entity.get("status", ACTIVE) == ACTIVE and is_foreign(node_of(entity))
        }

    def _upload(
        self, entities: list[AtlasEntity], further: Mapping[str, str] = MappingProxyType({})
    ) -> tuple[dict[str, str], frozenset[str]]:
        """The guids that the catalog assigned, by the negative ones that were sent, and those of what is new. Atlas
        takes all or nothing; of one that takes a part, the rest is missing here.
        """
        place, parameters = self._dialect.bulk(self._collection)
        body = {"entities": [entity.to_json() for entity in entities]}
        answer = self._client.call("POST", place, params={**parameters, **further}, json=body)
        assigned: dict[str, str] = answer.get("guidAssignments") or {}
        created = (answer.get("mutatedEntities") or {}).get("CREATE") or ()
        return assigned, frozenset(str(header["guid"]) for header in created)


def _owner(owner: str, entity: Mapping[str, Any] | None) -> str | None:
    """The owner to write onto what the catalog holds."""
    if entity is None:
        return owner
    return owner_to_write(owner, str(entity["attributes"].get("owner") or ""), description_of(entity))


def _beside_others(asset: AssetEntity, entity: Mapping[str, Any]) -> AssetEntity:
    """The asset with the owner that may be written, and with the properties that others gave it."""
    attributes = dict(asset.attributes)
    owner = _owner(attributes.pop("owner", ""), entity)
    if owner is not None:
        attributes["owner"] = owner
    custom_attributes = entity.get("customAttributes") or {}
    other_attributes = {name: str(value) for name, value in custom_attributes.items() if name not in PROMISE_WORDS}
    is_ours = asset.properties is not None or len(other_attributes) < len(custom_attributes)
    properties = tuple({**other_attributes, **dict(asset.properties or ())}.items()) if is_ours else None
    return replace(asset, attributes=tuple(attributes.items()), properties=properties)


def _origin(process: ProcessEntity, *, managed: bool) -> dict[str, dict[str, Any]]:
    """Where a process's job is at home, as a user's properties, and as managed attributes where there is a group."""
    origin = dict(process.origin)
    if not origin:
        return {}
    return {"customAttributes": origin, **({"businessAttributes": {MANAGED: origin}} if managed else {})}
