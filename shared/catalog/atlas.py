"""The catalog port on Atlas v2: Microsoft Purview, Apache Atlas, and the local catalog speak it.

Entities are made with pyapacheatlas' classes, here and nowhere else.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice
from typing import Any
from urllib.parse import quote

from pyapacheatlas.core import AtlasEntity, AtlasProcess

from shared.atlas import (
    COLUMN_TYPE,
    COLUMNS_OF_ASSET,
    LAST_RUN,
    OURS,
    PART_TYPES,
    PLACED,
    PROCESS_ATTRIBUTES,
    PROCESS_TYPE,
    SCHEMA_TYPE,
    AssetEntity,
    ProcessEntity,
    column_rule,
    schema_name,
)
from shared.catalog.columns import (
    NO_CHANGE,
    HeldColumn,
    batches,
    columns_alone,
    held_columns,
    related_ends,
    schema_change,
    schema_of,
    with_columns,
)
from shared.catalog.dialect import dialect_of
from shared.catalog.edges import ACTIVE, ended, shown
from shared.catalog.own_columns import Writes, calls_for_columns, write_columns
from shared.catalog.port import AssetKey, Graph, HeldAsset, HeldProcess, Node, Placeholder
from shared.catalog.transport import SteadyAtlasClient
from shared.errors import CatalogRefused, CatalogUnavailable

_NOT_FOUND = 404
_UNKNOWN_TYPE = frozenset({"ATLAS-400-00-014", "ATLAS-404-00-001"})
_NO_PARTS = [
    {"attributeName": "__typeName", "operator": "neq", "attributeValue": name}
    for name in sorted({*PART_TYPES, COLUMN_TYPE})
]
_PARTS = re.compile(r"[^\W_]+")
_PAGE = 100
_OWN_PARTS = frozenset({"columns", "tabular_schema", "attachedSchema", COLUMNS_OF_ASSET})
"""Relationships to what belongs to a data set, and goes with it."""
_MOST_COLUMNS = 50
"""Columns in one call."""
_LONGEST_QUERY = 6000
"""Characters of names in one address: gateways cut off or refuse addresses from 8 KiB on."""


class AtlasCatalog:
    """The catalog port over pyapacheatlas' client. What is written (only ever what is ours) goes into `collection`, if
    the server has collections; nothing else is ever moved, since assets of scans are only referred to.
    """

    def __init__(self, client: SteadyAtlasClient, *, collection: str = "", own_columns: bool = False) -> None:
        """`own_columns`: column lineage is written in a plain Atlas' own form too."""
        self._client = client
        self._dialect = dialect_of(client.endpoint_url)
        self._collection = collection
        self._own_columns = own_columns

    def find(self, keys: Iterable[AssetKey]) -> dict[AssetKey, str]:
        """As the port says."""
        return {key: held.guid for key, held in self.look_up(keys).items()}

    def look_up(self, keys: Iterable[AssetKey]) -> dict[AssetKey, HeldAsset]:
        """As the port says. Reads by unique attribute, which sees every write at once, unlike search."""
        entities = self._by_names(keys)
        return {key: HeldAsset(guid=str(each["guid"]), placed=_is_placed(each)) for key, each in entities.items()}

    def create_assets(self, assets: Sequence[AssetEntity]) -> dict[AssetKey, str]:
        """As the port says."""
        made = with_columns(assets)
        taken, _ = self._upload([entity for entities in made for entity in entities])
        return {
            (asset.type, asset.qualified_name): taken[entities[0].guid]
            for asset, entities in zip(assets, made, strict=True)
            if entities[0].guid in taken
        }

    def describe_placeholder(self, asset: AssetEntity) -> bool:
        """As the port says."""
        key = (asset.type, asset.qualified_name)
        held = self._by_names([key], related=bool(asset.columns)).get(key)
        if not held or not _is_placed(held):
            return False
        change = schema_change(asset, self._columns_of(asset, held)) if asset.columns else NO_CHANGE
        if not change and _description(held) == dict(asset.attributes)["description"]:
            return False
        self._upload_all(with_columns([replace(asset, columns=asset.columns[:1])])[0])
        for batch in batches(change.written, _MOST_COLUMNS):
            self._upload_all(columns_alone(asset, batch))
        self.remove(change.gone)
        return True

    def _upload_all(self, entities: list[AtlasEntity]) -> None:
        taken, _ = self._upload(entities)
        if any(entity.guid not in taken for entity in entities):
            raise CatalogRefused(status=200, code="", detail="an entity was given no guid")

    def _columns_of(self, asset: AssetEntity, held: Mapping[str, Any]) -> dict[str, HeldColumn]:
        """The columns that an asset has, by name."""
        holder: Mapping[str, Any] = held
        if column_rule(asset.type).through_schema:
            key = (SCHEMA_TYPE, schema_name(asset.qualified_name))
            holder = self._by_names([key], related=True).get(key, {})
        guids = [str(each["guid"]) for each in related_ends(holder, "columns")]
        found: list[dict[str, Any]] = []
        for batch in batches(guids, _MOST_COLUMNS):
            found += self._client.get_entity(guid=list(batch), ignoreRelationships=True)["entities"]
        return held_columns(asset, found)

    def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
        """As the port says. Inputs and outputs are sent in full, since an array replaces what was there.

        Where deletes are soft, Atlas keeps showing what has left, and takes no notice of what returns: what was not
        created is read back, and what still shows something else is deleted and made again, with a new guid.
        """

        def references(keys: tuple[AssetKey, ...]) -> list[dict[str, str]]:
            return [{"typeName": key[0], "guid": guids[key]} for key in keys]

        self._client.forget_tries()
        entities = [
            AtlasProcess(
                name=process.shown["name"],
                typeName=process.type,
                qualified_name=process.qualified_name,
                inputs=references(process.inputs),
                outputs=references(process.outputs),
                guid=str(-index),
                attributes=process.shown,
            )
            for index, process in enumerate(processes, start=1)
        ]
        taken, created = self._upload(entities)
        names = [process.qualified_name for process in processes]
        written = {name: taken[str(-index)] for index, name in enumerate(names, start=1) if str(-index) in taken}
        updated = [each for each in processes if written.get(each.qualified_name, "") not in {"", *created}]
        stale = self._stale(updated, guids)
        if stale:
            again = {name: each for name, each in zip(names, entities, strict=True) if name in stale}
            written |= self._made_again(again, written)
        if self._own_columns:
            own = Writes(upload=self._upload, by_names=self._by_names, remove=self.remove)
            write_columns(own, [each for each in processes if each.qualified_name in written], guids, written)
        return written

    def _made_again(self, entities: Mapping[str, AtlasEntity], written: Mapping[str, str]) -> dict[str, str]:
        """Delete processes and create them under their names: the new guids. When that fails half-way, nobody may take
        what was there before for what is there, so it counts as a write whose end is not known.
        """
        self.remove([written[name] for name in entities])
        try:
            taken, _ = self._upload(list(entities.values()))
        except (CatalogRefused, CatalogUnavailable) as error:
            after = error.after if isinstance(error, CatalogUnavailable) else 0
            raise CatalogUnavailable(f"Processes were deleted to be made again: {error}", after=after) from error
        if len(taken) < len(entities):
            raise CatalogUnavailable("Processes were deleted to be made again, and not all were taken", after=0)
        return {name: taken[each.guid] for name, each in entities.items()}

    def _stale(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> frozenset[str]:
        """The names of those of which a reader sees other inputs or outputs than these."""
        held = self._by_names(((each.type, each.qualified_name) for each in processes), related=True)
        return frozenset(
            process.qualified_name
            for process in processes
            if (entity := held.get((process.type, process.qualified_name)))
            for side, keys in (("inputs", process.inputs), ("outputs", process.outputs))
            if shown(entity, side) != sorted((guids[key], ACTIVE) for key in dict.fromkeys(keys))
        )

    def calls_to_write(self, processes: Sequence[ProcessEntity]) -> int:
        """As the port says: creating, reading back, deleting what is stale, and creating that again; then columns."""
        reads = sum(1 for _ in _in_queries(process.qualified_name for process in processes))
        return 3 + reads + (calls_for_columns(processes) + reads if self._own_columns else 0)

    def may_still_land(self) -> bool:
        """As the port says."""
        return self._client.may_still_land

    def read_process(self, type: str, qualified_name: str) -> ProcessEntity | None:  # noqa: A002 - the catalog's word
        """As the port says."""
        return next(
            (each.entity for each in self.read_processes([qualified_name]).values() if each.entity.type == type), None
        )

    def read_processes(self, qualified_names: Iterable[str]) -> dict[str, HeldProcess]:
        """As the port says. Names that are not there are left out of the catalog's answer; relationships are asked for,
        since they alone tell which inputs and outputs are only marked as removed.
        """
        entities = self._by_names(((PROCESS_TYPE, name) for name in qualified_names), related=True)
        return {key[1]: HeldProcess(guid=str(each["guid"]), entity=_process(each)) for key, each in entities.items()}

    def ours(self) -> Iterator[Node]:
        """As the port says."""
        yield from self._beginning(PROCESS_TYPE, "qualifiedName", OURS)
        yield from self._beginning("DataSet", "description", PLACED)

    def delete_process(self, type: str, qualified_name: str) -> None:  # noqa: A002 - the catalog's word
        """As the port says."""
        self._client.forget_tries()
        try:
            self._client.delete_entity(typeName=type, qualifiedName=qualified_name)
        except CatalogRefused as error:
            if error.status != _NOT_FOUND:
                raise

    def placeholders(self, keys: Iterable[AssetKey]) -> dict[AssetKey, Placeholder]:
        """As the port says."""
        entities = self._by_names(keys, related=True)
        return {
            key: Placeholder(guid=str(each["guid"]), links=_links(each), parts=schema_of(each))
            for key, each in entities.items()
            if _is_placed(each)
        }

    def remove(self, guids: Sequence[str]) -> None:
        """As the port says."""
        if guids:
            self._client.delete_entity(guid=list(guids))

    def search(self, text: str, limit: int = 25) -> tuple[Node, ...]:
        """As the port says, behind the writes by a moment: by Purview's own search, on plain Atlas by basic search.

        Atlas itself takes any of several words, and whole ones, wherever they stand: it is asked for parts of words,
        and what has them elsewhere is left out.
        """
        if self._dialect.is_purview:
            return tuple(islice(self._discovered(text), limit))
        words = text.lower().split()
        wanted = {
            "query": " AND ".join(f"*{part}*" for part in dict.fromkeys(_PARTS.findall(text))),
            "entityFilters": {"condition": "AND", "criterion": _NO_PARTS},
        }
        answer = self._client._post_http(  # noqa: SLF001 - the library has no verb for basic search
            f"{self._client.endpoint_url}/search/basic",
            json={"typeName": "DataSet", "limit": limit, "excludeDeletedEntities": True, **wanted},
        )
        nodes = [_node(entity) for entity in answer.body.get("entities") or ()]
        return tuple(
            node
            for node in nodes
            if all(word in node.qualified_name.lower() or word in node.name.lower() for word in words)
        )

    def lineage(self, guid: str, *, direction: str, depth: int) -> Graph:
        """As the port says. Processes are read in one more call, for their column mappings, and since they alone tell
        which edges are only marked as deleted.
        """
        answer = self._client.get_entity_lineage(guid, depth=depth, direction=direction)
        headers = (answer.get("guidEntityMap") or {}).items()
        nodes = {key: _node(header) for key, header in headers if header.get("status", ACTIVE) == ACTIVE}
        incomplete = [key for key, node in nodes.items() if node.is_process]
        gone: set[str] = set()
        if incomplete:
            full = self._client.get_entity(guid=incomplete, minExtInfo=True)
            nodes |= {entity["guid"]: _node(entity) for entity in full["entities"]}
            gone = {each for entity in full["entities"] for each in ended(entity)}
        edges = {
            (edge["fromEntityId"], edge["toEntityId"])
            for edge in answer.get("relations") or ()
            if edge["relationshipId"] not in gone and edge["fromEntityId"] in nodes and edge["toEntityId"] in nodes
        }
        linked = {guid, *(end for edge in edges for end in edge)}
        return Graph(base=guid, nodes={key: nodes[key] for key in nodes if key in linked}, edges=tuple(sorted(edges)))

    def _beginning(self, type_name: str, attribute: str, start: str) -> Iterator[Node]:
        """What has an attribute that begins so, by basic search, a page at a time."""
        if self._dialect.is_purview:
            yield from (
                node
                for node in self._discovered("*" if attribute == "description" else "", type_name)
                if str(node.attributes.get(attribute) or "").startswith(start)
            )
            return
        condition = {"attributeName": attribute, "operator": "startsWith", "attributeValue": start}
        for offset in count(0, _PAGE):
            answer = self._client._post_http(  # noqa: SLF001 - the library has no verb for basic search
                f"{self._client.endpoint_url}/search/basic",
                json={
                    "typeName": type_name,
                    "excludeDeletedEntities": True,
                    "includeSubTypes": True,
                    "entityFilters": {"condition": "AND", "criterion": [condition]},
                    "limit": _PAGE,
                    "offset": offset,
                },
            )
            page = answer.body.get("entities") or ()
            yield from (_node(entity) for entity in page)
            if len(page) < _PAGE:
                return

    def _discovered(self, words: str, process_type: str = "") -> Iterator[Node]:
        """What Purview's search gives, page by page: entities of a process type, or data sets whose names hold all the
        words. Its own ranking finds more than that.
        """
        wanted = [word for word in words.lower().split() if word != "*"]
        is_process = process_type == PROCESS_TYPE
        token = ""
        while True:
            answer = self._client._post_http(  # noqa: SLF001 - the library's Atlas client has no verb for it
                self._dialect.discovery,
                json={
                    "keywords": " ".join(wanted) or None,
                    "limit": _PAGE,
                    **({"filter": {"entityType": PROCESS_TYPE}} if is_process else {}),
                    **({"continuationToken": token} if token else {}),
                },
            ).body
            for each in answer.get("value") or ():
                node = _found(each)
                names = f"{node.qualified_name}\0{node.name}".lower()
                if (
                    node.is_process == is_process
                    and node.type not in PART_TYPES
                    and all(word in names for word in wanted)
                ):
                    yield node
            token = str(answer.get("continuationToken") or "")
            if not token:
                return

    def _by_names(self, keys: Iterable[AssetKey], *, related: bool = False) -> dict[AssetKey, dict[str, Any]]:
        """The entities of these types and names: those that are not there are left out of the catalog's answers."""
        by_type: dict[str, dict[str, None]] = {}
        for type_name, name in keys:
            by_type.setdefault(type_name, {})[name] = None
        found = {}
        for type_name, names in sorted(by_type.items()):
            for page in _in_queries(names):
                for entity in self._page(type_name, page, related=related):
                    found[type_name, str(entity["attributes"]["qualifiedName"])] = entity
        return found

    def _page(self, type_name: str, names: Sequence[str], *, related: bool) -> Sequence[dict[str, Any]]:
        """The entities of one call. A server that answers 404 where some are missing is asked for fewer."""
        try:
            answer = self._client._get_http(  # noqa: SLF001 - the library would repeat what cannot be told apart
                f"{self._client.endpoint_url}/entity/bulk/uniqueAttribute/type/{type_name}",
                params={
                    **{f"attr_{number}:qualifiedName": name for number, name in enumerate(names)},
                    "ignoreRelationships": "false" if related else "true",
                    "minExtInfo": "true",
                },
            )
        except CatalogRefused as error:
            if error.code in _UNKNOWN_TYPE or (error.status == _NOT_FOUND and len(names) == 1):
                return ()
            if error.status != _NOT_FOUND:
                raise
            half = len(names) // 2
            return [
                each for part in (names[:half], names[half:]) for each in self._page(type_name, part, related=related)
            ]
        entities: Sequence[dict[str, Any]] = answer.body.get("entities") or ()
        return entities

    def _upload(self, entities: list[AtlasEntity]) -> tuple[dict[str, str], frozenset[str]]:
        """The guids that the catalog assigned, by the negative ones that were sent, and those of what is new. Atlas
        takes all or nothing; of one that takes a part, the rest is missing here.
        """
        place, parameters = self._dialect.bulk(self._collection)
        answer = self._client._post_http(  # noqa: SLF001 - the library knows no collections
            place, params=parameters, json={"entities": [entity.to_json() for entity in entities]}
        ).body
        assigned: dict[str, str] = answer.get("guidAssignments") or {}
        created = (answer.get("mutatedEntities") or {}).get("CREATE") or ()
        return assigned, frozenset(str(header["guid"]) for header in created)


def _in_queries(names: Iterable[str]) -> Iterator[list[str]]:
    """So many names at a time as fit into one address."""
    batch: list[str] = []
    length = 0
    for name in names:
        needs = len(quote(name, safe="")) + len("&attr_00:qualifiedName=")
        if batch and length + needs > _LONGEST_QUERY:
            yield batch
            batch, length = [], 0
        batch.append(name)
        length += needs
    if batch:
        yield batch


def _process(entity: Mapping[str, Any]) -> ProcessEntity:
    attributes = dict(entity["attributes"])
    attributes["description"], _, facts = (attributes.get("description") or "").partition(LAST_RUN)
    return ProcessEntity(
        type=str(entity["typeName"]),
        qualified_name=str(attributes["qualifiedName"]),
        attributes=tuple((name, attributes.get(name) or "") for name in PROCESS_ATTRIBUTES),
        inputs=_active(entity, "inputs"),
        outputs=_active(entity, "outputs"),
        facts=facts,
    )


def _active(entity: Mapping[str, Any], side: str) -> tuple[AssetKey, ...]:
    """One side of a process, without what was taken away from it: there may be several relationships to one data set,
    of which some are only marked as deleted, and the references do not tell which.
    """
    related = (entity.get("relationshipAttributes") or {}).get(side) or ()
    active = {each["guid"] for each in related if each.get("relationshipStatus", ACTIVE) == ACTIVE}
    return _keys(each for each in entity["attributes"][side] or () if each["guid"] in active)


def _keys(references: Iterable[Mapping[str, Any]]) -> tuple[AssetKey, ...]:
    return tuple(
        sorted({(str(each["typeName"]), str(each["uniqueAttributes"]["qualifiedName"])) for each in references})
    )


def _links(entity: Mapping[str, Any]) -> frozenset[str]:
    """What an entity is linked to; links that were deleted stay in Atlas' answers and are marked so."""
    ends = [
        end
        for name, value in (entity.get("relationshipAttributes") or {}).items()
        if name not in _OWN_PARTS
        for end in (value if isinstance(value, list) else [value] if value else ())
    ]
    deleted = ("relationshipStatus", "entityStatus")
    return frozenset(str(end["guid"]) for end in ends if all(end.get(each) != "DELETED" for each in deleted))


def _description(entity: Mapping[str, Any]) -> str:
    return str(entity["attributes"].get("description") or "")


def _is_placed(entity: Mapping[str, Any]) -> bool:
    return _description(entity).startswith(PLACED)


def _found(value: Mapping[str, Any]) -> Node:
    """An entry of Purview's search: attributes stand beside what it is."""
    return Node(
        guid=str(value["id"]),
        type=str(value.get("entityType") or ""),
        qualified_name=str(value.get("qualifiedName") or ""),
        name=str(value.get("name") or value.get("qualifiedName") or ""),
        attributes=value,
    )


def _node(entity: Mapping[str, Any]) -> Node:
    attributes = entity.get("attributes") or {}
    qualified_name = str(attributes.get("qualifiedName") or "")
    return Node(
        guid=str(entity["guid"]),
        type=str(entity["typeName"]),
        qualified_name=qualified_name,
        name=str(attributes.get("name") or qualified_name),
        attributes=attributes,
    )
