"""The row in which an application's partition of `runs` holds what its runs found out about it as a whole.

Its facts only grow. A run adds its facts first and then looks for the runs that they concern; such a run writes its own
rows first and then reads the facts. So one of the two sees the other, in whatever order they run.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import msgspec

from shared.records.cells import PackedCell, cells_of, record_of
from shared.storage.compare_and_swap import RowAddress, compare_and_swap
from shared.storage.port import Row, Storage
from shared.storage_layout import APPLICATION, RUNS
from shared.translation.application.context import ApplicationFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """What is known of an application as a whole.

    `facts`: what its runs found out; `applied`: those with which all runs that they concern have been processed.
    `resolve_together`: what it says of one process depends on what it says of others (see RESOLVE_TOGETHER).
    `has_batches`: at least one of its runs is a stream's batch.
    """

    run: str
    facts: ApplicationFacts = field(default_factory=ApplicationFacts)
    applied: ApplicationFacts = field(default_factory=ApplicationFacts)
    resolve_together: bool = False
    has_batches: bool = False

    def row(self, storage: Storage) -> Row:
        """As a row of `runs`."""
        facts = _FACTS.pack(storage, (self.facts, self.applied))
        values = {**cells_of(self, without=("run", "facts", "applied")), **facts}
        return Row(partition=self.run, key=APPLICATION, values=values)

    @classmethod
    def of(cls, row: Row, storage: Storage) -> "Application":
        """From a row of `runs`."""
        facts, applied = _FACTS.unpack(storage, row)
        return record_of(cls, row, run=row.partition, facts=facts, applied=applied)


_FACTS = PackedCell(name="facts", decoder=msgspec.json.Decoder(tuple[ApplicationFacts, ApplicationFacts]))

ReadApplication = Callable[[Storage, str], Application]
"""Reads what is known of an application, from storage or a cache."""


def resolves_together(row: Row) -> bool:
    """Whether a row of `runs` is an application's whose contribution to one process depends on those to others."""
    return row.key == APPLICATION and bool(row.values["resolve_together"])


def read_application(storage: Storage, run: str) -> Application:
    """What is known of this application: a point read."""
    found = storage.read(RUNS, run, APPLICATION)
    return Application.of(found, storage) if found else Application(run=run)


def add_facts(
    storage: Storage, run: str, facts: ApplicationFacts, *, resolve_together: bool = False, has_batches: bool = False
) -> Application:
    """Add to what is known of an application, and write only what is new: what is known then. Raises WriteConflict."""

    def change(known: Application) -> Application:
        return replace(
            known,
            facts=known.facts | facts,
            resolve_together=known.resolve_together or resolve_together,
            has_batches=known.has_batches or has_batches,
        )

    return _change(storage, run, change)


def note_applied(storage: Storage, handled: Application) -> bool:
    """Note that all runs that `handled.facts` concern have been processed with them.

    False, and nothing noted, when there are more facts by now. Raises WriteConflict.
    """

    def change(known: Application) -> Application:
        return replace(known, applied=handled.facts) if known.facts == handled.facts else known

    return _change(storage, handled.run, change).facts == handled.facts


def _change(storage: Storage, run: str, change: Callable[[Application], Application]) -> Application:
    unknown = Application(run=run)

    def changed(found: Application | None) -> Application | None:
        after = change(found or unknown)
        return found if after == unknown else after

    swapped = compare_and_swap(
        storage,
        RowAddress(RUNS, run, APPLICATION),
        changed,
        decode=lambda row: Application.of(row, storage),
        encode=lambda application: application.row(storage),
    )
    return swapped.after or unknown
