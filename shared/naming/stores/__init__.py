"""Store families in three tables: `files`, `databases` and `services`.

A new family is a row in `STORES` of one of them, with its rules and the function that normalises its spellings.
"""

from shared.naming.stores import databases, files, services
from shared.naming.stores.families import StoreFamily

STORES: tuple[StoreFamily, ...] = (*files.STORES, *databases.STORES, *services.STORES)
"""All families. Of several with one scheme the first whose authority fits is taken (`families_by_scheme`)."""
