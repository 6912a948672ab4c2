"""Storage in memory in a process of its own, so that a measured command pays for calls but not for stored data.

`python -m tests.bench.far_storage PORT KEY ARGUMENT…` runs a `throughline` command on it. Lists come in pages, as from
Azure.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from multiprocessing.managers import BaseManager
from typing import Any

import typer.main

from shared.bootstrap import assemble
from shared.settings.reading import load
from shared.storage.memory import MemoryStorage
from shared.storage.port import Lease, Row
from throughline.cli.main import app

_PAGE = 1000


class _Paged(MemoryStorage):
    """The far side."""

    def page(self, table: str, partition: str | None, since: str, before: str, skip: int) -> Sequence[Row]:
        rows = self.scan(table) if partition is None else self.partition(table, partition, since=since, before=before)
        return tuple(islice(rows, skip, skip + _PAGE))


STORED = _Paged()


class Manager(BaseManager):
    """Serves the one storage of its process."""


def _stored() -> _Paged:
    return STORED


Manager.register("stored", callable=_stored)


class FarStorage:
    """The client side: the part of a Storage that publishing needs. With one publisher a lease is always free."""

    def __init__(self, stored: Any) -> None:
        self._stored = stored

    def __getattr__(self, name: str) -> Callable[..., Any]:
        attribute: Callable[..., Any] = getattr(self._stored, name)
        return attribute

    def partition(self, table: str, partition: str, *, since: str = "", before: str = "") -> Iterator[Row]:
        """See the port."""
        return self._pages(table, partition, since, before)

    def scan(self, table: str) -> Iterator[Row]:
        """See the port."""
        return self._pages(table, None, "", "")

    def lease(self, _name: str, _seconds: int) -> Lease:
        """Return a lease; nobody competes for it."""
        return _Mine()

    def _pages(self, table: str, partition: str | None, since: str, before: str) -> Iterator[Row]:
        skip = 0
        while page := self._stored.page(table, partition, since, before, skip):
            yield from page
            skip += len(page)
            if len(page) < _PAGE:
                return


class _Mine:
    def renew(self) -> bool:
        return True

    def release(self) -> None:
        """Do nothing: no other process waits for the lease."""


def main() -> None:
    """Connect to the storage, and run the command on it with the settings of the environment."""
    port, key, *arguments = sys.argv[1:]
    manager = Manager(address=("127.0.0.1", int(port)), authkey=bytes.fromhex(key))
    manager.connect()
    far: Any = FarStorage(manager.stored())  # type: ignore[attr-defined]  # registered above
    parts = replace(assemble(load(catalog=True)), storage=far)
    typer.main.get_command(app).main(arguments, obj=parts)


if __name__ == "__main__":
    main()
