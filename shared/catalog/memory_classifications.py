"""Classifications and terms in memory, on the assets of the catalog in memory and their columns."""

from collections.abc import Iterable, Mapping, Sequence

from shared.atlas.columns import column_entities
from shared.catalog.memory import MemoryCatalog
from shared.catalog.port import AssetKey, Classified
from shared.errors import CatalogRefused


class MemoryClassifications:
    """The port of classifications over dictionaries; `writes` counts the calls that wrote."""

    def __init__(self, catalog: MemoryCatalog) -> None:
        self._catalog = catalog
        self._names: dict[str, frozenset[str]] = {}
        self.writes = 0

    def classified(self, keys: Iterable[AssetKey]) -> dict[AssetKey, Classified]:
        """As the port says."""
        held = self._entities()
        return {
            key: Classified(guid=held[key][0], names=self._names.get(held[key][0], frozenset()), placed=held[key][1])
            for key in keys
            if key in held
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
        known = {guid for guid, _ in self._entities().values()}
        for guid in guids:
            if guid not in known:
                raise CatalogRefused(status=404, code="ATLAS-404-00-005", detail=f"no entity has the guid {guid}")
        for guid in guids:
            self._names[guid] = self._names.get(guid, frozenset()) | {name}

    def _entities(self) -> dict[AssetKey, tuple[str, bool]]:
        """The guid of each asset and column, and whether it is a placeholder."""
        found: dict[AssetKey, tuple[str, bool]] = {}
        for key, asset in self._catalog.assets.items():
            guid = self._catalog.find([key])[key]
            found[key] = (guid, asset.is_placeholder)
            for column in column_entities(asset.type, asset.qualified_name, asset.columns):
                found[column.type, column.qualified_name] = (f"{guid}/{column.name}", False)
        return found


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
        if there := self._terms[glossary] & set(names):
            raise CatalogRefused(status=409, code="ATLAS-409-00-009", detail=f"{min(there)} exists already")
        self._terms[glossary] |= set(names)

    def attach(self, name: str, guids: Sequence[str]) -> None:
        """As the port says."""
        term, _, glossary = name.partition("@")
        if term not in self._terms.get(glossary, frozenset()):
            raise CatalogRefused(status=404, code="", detail=f"The glossary has no term {name}")
        self._attach(name, guids)
