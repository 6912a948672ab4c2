"""The storage port, and storage in memory. The Azure adapter is named by `shared.adapters` alone."""

from shared.storage.memory import MemoryStorage
from shared.storage.port import BlobFact, Lease, Row, Storage, Value

__all__ = ["BlobFact", "Lease", "MemoryStorage", "Row", "Storage", "Value"]
