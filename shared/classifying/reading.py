"""Read the classifications that others set in the catalog, if a rules file asks for them."""

from shared.catalog.port import Classifications
from shared.classifying.attached import attached
from shared.classifying.planning import catalog_tags
from shared.errors import CatalogRefused, Retry
from shared.governance.propagation import CatalogReading
from shared.governance.rules import Rules
from shared.lineage.document import LineageDocument
from shared.storage.port import Storage

NO_CATALOG = CatalogReading(why="no catalog is configured")


def reading_of(
    document: LineageDocument, rules: Rules, catalog: Classifications | None, storage: Storage
) -> CatalogReading:
    """Read them in bulk, without those that we attached. No call if no rule asks. A refusal of the catalog gives a
    reading without tags. Raises CatalogUnavailable and StorageUnavailable.
    """
    if not rules.asks_catalog:
        return CatalogReading(tags={})
    if catalog is None:
        return NO_CATALOG
    try:
        return CatalogReading(tags=catalog_tags(document, rules, catalog, attached(storage)))
    except CatalogRefused as error:
        return CatalogReading(why=str(error))


def reading_if_there(
    document: LineageDocument, rules: Rules, catalog: Classifications | None, storage: Storage
) -> CatalogReading:
    """The same for callers that continue without tags where catalog or storage do not answer."""
    try:
        return reading_of(document, rules, catalog, storage)
    except Retry as error:
        return CatalogReading(why=str(error))
