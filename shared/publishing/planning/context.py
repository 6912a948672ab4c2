"""What every step of publishing works with."""

from dataclasses import dataclass

from shared.catalog.port import Catalog
from shared.publishing.planning.options import PublishOptions
from shared.storage.port import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishContext:
    """The records in a `storage`, the `catalog` that they are published to, and the options of `publishing`."""

    storage: Storage
    catalog: Catalog
    publishing: PublishOptions
