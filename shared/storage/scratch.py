"""Storage that is only read: what is written stays in memory."""

from collections.abc import Iterator

from shared.storage.memory import MemoryStorage
from shared.storage.port import BlobFact, Storage


class ScratchStorage(MemoryStorage):
    """Tables in memory, empty at first, over the blobs of a real storage."""

    def __init__(self, real: Storage) -> None:
        super().__init__()
        self._real = real

    def get(self, container: str, name: str) -> bytes | None:
        """As the port says."""
        content = super().get(container, name)
        return self._real.get(container, name) if content is None else content

    def get_part(self, container: str, name: str, offset: int, length: int) -> bytes | None:
        """As the port says."""
        return self._real.get_part(container, name, offset, length)

    def blobs(self, container: str, prefix: str = "") -> Iterator[BlobFact]:
        """As the port says, without what was written here."""
        return self._real.blobs(container, prefix)
