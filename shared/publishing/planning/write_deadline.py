"""Deadlines of writes: until when a call to the catalog may still take effect. The ledger stores them.

A write consists of several calls, each of which is over after `call_bound`. No call begins that might end after the
deadline, so that no other publisher writes the same process before, however slow the catalog is.
"""

from collections.abc import Sequence
from datetime import datetime

from shared.atlas.entities import ProcessEntity
from shared.catalog.batches import MOST_GUIDS, calls_for_guids
from shared.publishing.planning.context import PublishContext
from shared.records.ledger import NOTHING_BEGUN

CALLS_TO_PLACE = 2
"""Calls to create data sets: with their columns, and without where these are refused."""


def write_until(context: PublishContext, processes: Sequence[ProcessEntity]) -> datetime:
    """The deadline of a write of these processes that begins now, including the creation of data sets."""
    return _after(context, CALLS_TO_PLACE + context.catalog.calls_to_write(processes))


def remove_until(context: PublishContext, entities: int = 1) -> datetime:
    """The deadline of a removal that begins now: its calls, and one more for what comes before them."""
    return _after(context, calls_for_guids(entities) + 1)


_CALLS_TO_DESCRIBE = 6
_DESCRIBED_AT_ONCE = 25
"""Columns for each further call: half of what a call holds, since most are read and then written."""


def calls_to_describe(columns: int) -> int:
    """The most calls that an update of a data set with so many columns takes: read it and its schema, write it, remove
    superfluous columns.
    """
    return _CALLS_TO_DESCRIBE + columns // _DESCRIBED_AT_ONCE + columns // MOST_GUIDS


def describe_until(context: PublishContext, calls: int) -> datetime:
    """The deadline of an update of so many calls that begins now; one call more for what comes before the first."""
    return _after(context, calls + 1)


def is_in_time(context: PublishContext, until: datetime, calls: int = 1) -> bool:
    """Whether so many calls in a row that begin now are over by the deadline."""
    return _after(context, calls) <= until


def last_effect(context: PublishContext, until: datetime) -> datetime:
    """The last time at which calls that have begun may take effect, if no further one follows."""
    return min(until, _after(context, 1))


def last_effect_of_success(context: PublishContext, until: datetime) -> datetime:
    """As `last_effect`, of calls that succeeded: only tries whose answers were lost may take effect later."""
    return last_effect(context, until) if context.catalog.may_still_land() else NOTHING_BEGUN


def _after(context: PublishContext, calls: int) -> datetime:
    """When so many calls in a row that begin now are certainly over."""
    return context.publishing.now() + calls * context.publishing.call_bound
