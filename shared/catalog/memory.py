"""A catalog in memory: for tests of what stands before the catalog, and for trying things without one.

It holds classifications and terms too, on its assets and their columns.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

from shared.atlas.columns import column_entities
from shared.atlas.entities import PROCESS_TYPE, AssetEntity, ProcessEntity, column_pairs, owner_to_write
from shared.catalog.port import (
    AssetKey,
    Classified,
    ForeignAsset,
    ForeignProcess,
    HeldAsset,
    HeldProcess,
    Node,
    Placeholder,
    ProcessLinks,
)
from shared.errors import CatalogRefused
from shared.translation.process.identity import OURS


class MemoryCatalog:
    """The catalog port over dictionaries; `writes` counts the calls that wrote."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._guids: dict[AssetKey, str] = {}
        self._numbers = count(1)
        self.assets: dict[AssetKey, AssetEntity] = {}
        self.processes: dict[str, ProcessEntity] = {}
        self._written: dict[str, datetime] = {}
        self.writes = 0

    def find(self, keys: Iterable[AssetKey]) -> dict[AssetKey, str]:
        """As the port says."""
        with self._lock:
            return {key: self._guids[key] for key in keys if key in self._guids}

    def look_up(self, keys: Iterable[AssetKey]) -> dict[AssetKey, HeldAsset]:
        """As the port says."""
        with self._lock:
            return {
                key: HeldAsset(guid=guid, placed=key in self.assets and self.assets[key].is_placeholder)
                for key, guid in self.find(keys).items()
            }

    def create_assets(self, assets: Sequence[AssetEntity]) -> dict[AssetKey, str]:
        """As the port says."""
        with self._lock:
            self.writes += 1
            created = {}
            for asset in assets:
                key = asset.key
                self.assets[key] = asset
                created[key] = self._guid(key)
            return created

    def describe_placeholder(self, asset: AssetEntity, *, bare: bool = False) -> bool:
        """As the port says."""
        with self._lock:
            described = self._described(asset, is_bare=bare)
            if described is None:
                return False
            self.writes += 1
            self.assets[asset.key] = described
            return True

    def up_to_date(
        self, assets: Sequence[AssetEntity], *, bare: frozenset[AssetKey] = frozenset()
    ) -> frozenset[AssetKey]:
        """As the port says."""
        with self._lock:
            return frozenset(asset.key for asset in assets if not self._described(asset, is_bare=asset.key in bare))

    def _described(self, asset: AssetEntity, *, is_bare: bool) -> AssetEntity | None:
        """A placeholder as describing it would change it; None where nothing changes."""
        existing = self.assets.get(asset.key)
        if existing is None or not existing.is_placeholder:
            return None
        described = replace(
            asset,
            attributes=_with_owner(dict(asset.attributes), dict(existing.attributes)),
            columns=asset.columns if asset.columns or is_bare else existing.columns,
        )
        return described if described != existing else None

    def write_processes(self, processes: Sequence[ProcessEntity], guids: Mapping[AssetKey, str]) -> dict[str, str]:
        """As the port says."""
        with self._lock:
            self.writes += 1
            existing = set(self._guids.values())
            dangling = [k for p in processes for k in (*p.inputs, *p.outputs) if guids.get(k) not in existing]
            if dangling:
                raise CatalogRefused(status=404, code="ATLAS-404-00-00A", detail=f"No such entity: {dangling[0]}")
            for process in processes:
                self.processes[process.qualified_name] = process
                self._written[process.qualified_name] = datetime.now(UTC)
            return {p.qualified_name: self._guid(p.key) for p in processes}

    def calls_to_write(self, processes: Sequence[ProcessEntity]) -> int:  # noqa: ARG002 - the port's, whatever they are
        """As the port says."""
        return 1

    def may_still_land(self) -> bool:
        """As the port says."""
        return False

    def read_processes(self, qualified_names: Iterable[str]) -> dict[str, HeldProcess]:
        """As the port says."""
        with self._lock:
            processes = [self.processes[name] for name in qualified_names if name in self.processes]
            return {
                process.qualified_name: HeldProcess(guid=self._guid(process.key), entity=process)
                for process in processes
            }

    def ours(self) -> Iterator[Node]:
        """As the port says."""
        with self._lock:
            nodes = [self._process_node(process) for name, process in self.processes.items() if name.startswith(OURS)]
            nodes += [self._asset_node(key) for key, asset in self.assets.items() if asset.is_placeholder]
        return iter(nodes)

    def delete_process(self, qualified_name: str) -> None:
        """As the port says."""
        with self._lock:
            self.writes += 1
            self.processes.pop(qualified_name, None)
            self._guids.pop((PROCESS_TYPE, qualified_name), None)

    def placeholders(self, keys: Iterable[AssetKey]) -> dict[AssetKey, Placeholder]:
        """As the port says."""
        with self._lock:
            return {
                key: Placeholder(guid=self._guids[key], links=self._links(key))
                for key in keys
                if key in self.assets and self.assets[key].is_placeholder
            }

    def _links(self, key: AssetKey) -> frozenset[str]:
        users = [process for process in self.processes.values() if key in (*process.inputs, *process.outputs)]
        return frozenset(self._guids[process.type, process.qualified_name] for process in users)

    def remove(self, guids: Sequence[str]) -> None:
        """As the port says."""
        with self._lock:
            self.writes += 1
            for key in [key for key, guid in self._guids.items() if guid in guids]:
                del self._guids[key]
                self.assets.pop(key, None)
                self.processes.pop(key[1], None)

    def search(self, text: str, limit: int = 25) -> tuple[Node, ...]:
        """As the port says."""
        words = text.lower().split()
        with self._lock:
            nodes = (self._asset_node(key) for key in sorted(self.assets))
            hits = [n for n in nodes if all(w in n.qualified_name.lower() or w in n.name.lower() for w in words)]
            return tuple(hits[:limit])

    def search_all(self, texts: Sequence[str]) -> dict[str, tuple[Node, ...]] | None:
        """As the port says."""
        return {text: self.search(text, limit=len(self.assets)) for text in texts}

    def process_links(self, keys: Iterable[AssetKey]) -> dict[AssetKey, ProcessLinks]:
        """As the port says."""
        with self._lock:
            processes = [(self._guid(process.key), process) for process in self.processes.values()]
            return {
                key: ProcessLinks(
                    readers=frozenset(guid for guid, process in processes if key in process.inputs),
                    writers=frozenset(guid for guid, process in processes if key in process.outputs),
                )
                for key in self.find(keys)
            }

    def process_names(self, guids: Iterable[str]) -> frozenset[str]:
        """As the port says."""
        with self._lock:
            names = {self._guid(process.key): name for name, process in self.processes.items()}
            return frozenset(names[guid] for guid in guids if guid in names and names[guid].startswith(OURS))

    def foreign_processes(self, guids: Iterable[str]) -> dict[str, ForeignProcess]:
        """As the port says."""
        with self._lock:
            by_guid = {self._guid(process.key): process for process in self._foreign()}
            return {guid: self._foreign_process(by_guid[guid]) for guid in guids if guid in by_guid}

    def changed_processes(self, since: datetime) -> frozenset[str] | None:
        """As the port says."""
        with self._lock:
            changed = (process for process in self._foreign() if self._written[process.qualified_name] >= since)
            return frozenset(self._guid(process.key) for process in changed)

    def _foreign(self) -> list[ProcessEntity]:
        return [process for name, process in self.processes.items() if not name.startswith(OURS)]

    def _foreign_process(self, process: ProcessEntity) -> ForeignProcess:
        def ends(keys: Iterable[AssetKey]) -> tuple[ForeignAsset, ...]:
            nodes = (self._asset_node(key) for key in dict.fromkeys(keys))
            return tuple(sorted(ForeignAsset(type=n.type, qualified_name=n.qualified_name, name=n.name) for n in nodes))

        node = self._process_node(process)
        return ForeignProcess(
            type=node.type,
            qualified_name=node.qualified_name,
            name=node.name,
            inputs=ends(process.inputs),
            outputs=ends(process.outputs),
            columns=column_pairs(node.attributes.get("columnMapping")),
        )

    def _guid(self, key: AssetKey) -> str:
        return self._guids.setdefault(key, f"guid-{next(self._numbers)}")

    def _asset_node(self, key: AssetKey) -> Node:
        attributes = dict(self.assets[key].attributes)
        return Node(
            guid=self._guids[key], type=key[0], qualified_name=key[1], name=attributes["name"], attributes=attributes
        )

    def _process_node(self, process: ProcessEntity) -> Node:
        attributes = process.shown
        return Node(
            guid=self._guids[process.type, process.qualified_name],
            type=process.type,
            qualified_name=process.qualified_name,
            name=attributes["name"],
            attributes=attributes,
        )


def _with_owner(new_attributes: dict[str, str], old_attributes: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """The attributes with the owner that may be written, else with the one that is there."""
    old_owner = old_attributes.get("owner", "")
    owner = owner_to_write(new_attributes.pop("owner", ""), old_owner, old_attributes.get("description", ""))
    owner = old_owner if owner is None else owner
    return tuple({**new_attributes, **({"owner": owner} if owner else {})}.items())


class MemoryClassifications:
    """The port of classifications over dictionaries; `writes` counts the calls that wrote."""

    def __init__(self, catalog: MemoryCatalog) -> None:
        self._catalog = catalog
        self._names: dict[str, frozenset[str]] = {}
        self.writes = 0

    def classified(self, keys: Iterable[AssetKey]) -> dict[AssetKey, Classified]:
        """As the port says."""
        entities = self._entities()
        return {
            key: Classified(
                guid=entities[key][0], names=self._names.get(entities[key][0], frozenset()), placed=entities[key][1]
            )
            for key in keys
            if key in entities
        }

    def attach(self, name: str, guids: Sequence[str]) -> None:
        """As the port says."""
        for guid in guids:
            if name in self._names.get(guid, frozenset()):
                raise CatalogRefused(status=400, code="ATLAS-400-00-01A", detail=f"{guid} has {name} already")
        self._attach(name, guids)

    def detach(self, name: str, guid: str) -> None:
        """As the port says."""
        self.writes += 1
        self._names[guid] = self._names.get(guid, frozenset()) - {name}

    def _attach(self, name: str, guids: Sequence[str]) -> None:
        self.writes += 1
        existing = {guid for guid, _ in self._entities().values()}
        for guid in guids:
            if guid not in existing:
                raise CatalogRefused(status=404, code="ATLAS-404-00-005", detail=f"no entity has the guid {guid}")
        for guid in guids:
            self._names[guid] = self._names.get(guid, frozenset()) | {name}

    def _entities(self) -> dict[AssetKey, tuple[str, bool]]:
        """The guid of each asset and column, and whether it is a placeholder."""
        entities: dict[AssetKey, tuple[str, bool]] = {}
        for key, asset in self._catalog.assets.items():
            guid = self._catalog.find([key])[key]
            entities[key] = (guid, asset.is_placeholder)
            for column in column_entities(asset.type, asset.qualified_name, asset.columns):
                entities[column.type, column.qualified_name] = (f"{guid}/{column.name}", False)
        return entities


class MemoryTerms(MemoryClassifications):
    """The port of terms over dictionaries, with one empty glossary."""

    def __init__(self, catalog: MemoryCatalog, glossary: str = "Glossary") -> None:
        super().__init__(catalog)
        self._terms: dict[str, frozenset[str]] = {glossary: frozenset()} if glossary else {}

    def glossaries(self) -> Mapping[str, frozenset[str]]:
        """As the port says."""
        return dict(self._terms)

    def create_glossary(self, name: str) -> None:
        """As the port says."""
        self.writes += 1
        if name in self._terms:
            raise CatalogRefused(status=409, code="ATLAS-409-00-007", detail=f"the glossary {name} exists already")
        self._terms[name] = frozenset()

    def create_terms(self, glossary: str, names: Sequence[str]) -> None:
        """As the port says."""
        self.writes += 1
        if existing := self._terms[glossary] & set(names):
            raise CatalogRefused(status=409, code="ATLAS-409-00-009", detail=f"{min(existing)} exists already")
        self._terms[glossary] |= set(names)

    def attach(self, name: str, guids: Sequence[str]) -> None:
        """As the port says."""
        term, _, glossary = name.partition("@")
        if term not in self._terms.get(glossary, frozenset()):
            raise CatalogRefused(status=404, code="", detail=f"The glossary has no term {name}")
        self._attach(name, guids)
