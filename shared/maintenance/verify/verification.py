"""Verify: hold blobs against tables against the catalog, and repair what differs.

No checkpoint is kept: what was repaired is not found again, so an interrupted verify starts over, and a second one
writes nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from shared.maintenance.replay import publish_all
from shared.maintenance.verify.checks import CheckStage, FoundInconsistency, InconsistencyKind, Survey, VerifyContext
from shared.maintenance.verify.contributions import CONTRIBUTION_ROWS, UNMET_STATES
from shared.maintenance.verify.processes import CATALOG_PROCESSES, PLACEHOLDERS, PROCESSES
from shared.maintenance.verify.runs import LETTERS, RUN_ROWS, STORED_EVENTS
from shared.publishing.writing.catalog_write import Published

_STAGES: tuple[CheckStage[Any], ...] = (
    LETTERS,
    RUN_ROWS,
    STORED_EVENTS,
    CONTRIBUTION_ROWS,
    UNMET_STATES,
    PROCESSES,
    CATALOG_PROCESSES,
    PLACEHOLDERS,
)
KINDS: tuple[InconsistencyKind, ...] = tuple(each.kind for stage in _STAGES for each in stage.checks)
"""What `verify` finds. A test compares docs/operate/recovery.md with it."""


def verify(
    context: VerifyContext, *, fix: bool = False, stopped: Callable[[], bool] = lambda: False
) -> Iterator[FoundInconsistency | Published]:
    """All inconsistencies, stage by stage, as they are found; with `fix` each is repaired at once, and what that queued
    is published before the catalog is read and at the end: counts of that come in between.

    Ends once `stopped`. Raises StorageUnavailable, CatalogUnavailable or CatalogRefused; repairs made by then stay.
    """
    context = replace(context, survey=Survey())
    for stage in _STAGES:
        if fix and stage.after_publishing:
            yield publish_all(context)[0]
        for found in stage.run(context, fix=fix):
            if found:
                yield found
            elif stopped():
                return
    if fix:
        yield publish_all(context)[0]
