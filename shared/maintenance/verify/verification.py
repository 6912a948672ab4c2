"""Verify: hold blobs against tables against the catalog, and repair what differs.

No checkpoint is kept: what was repaired is not found again, so an interrupted verify starts over, and a second one
writes nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from shared.errors import ContentLost, WriteConflict
from shared.maintenance.publish_missing import publish_all
from shared.maintenance.verify import applications, processes
from shared.maintenance.verify.findings import Inconsistency, Survey, VerifyContext
from shared.publishing.context import Published

_CHECKS: tuple[tuple[Callable[[VerifyContext], Iterator[Inconsistency]], bool], ...] = (
    (applications.check_letters, False),
    (applications.check_applications, False),
    (applications.check_archive, False),
    (applications.check_shares, False),
    (processes.check_processes, True),
    (processes.check_catalog, False),
    (processes.check_placeholders, True),
)
"""Each check, and whether what earlier repairs queued is published before."""


def verify(context: VerifyContext, *, fix: bool = False) -> Iterator[Inconsistency | Published]:
    """All inconsistencies, check by check, as they are found; with `fix` each is repaired at once, and what that queued
    is published before the catalog is read and at the end: counts of that come in between.

    Ends once `stopped` of the options. Raises StorageUnavailable, CatalogUnavailable or CatalogRefused; repairs made by
    then stay.
    """
    context = replace(context, survey=Survey())
    for check, after_publishing in _CHECKS:
        if fix and after_publishing:
            yield publish_all(context)[0]
        for inconsistency in check(context):
            yield _repaired(inconsistency) if fix else inconsistency
        if context.publishing.stopped():
            return
    if fix:
        yield publish_all(context)[0]


def _repaired(inconsistency: Inconsistency) -> Inconsistency:
    try:
        reason = inconsistency.repair()
    except (WriteConflict, ContentLost) as error:
        reason = str(error)
    return replace(inconsistency, repaired=not reason, reason=reason)
