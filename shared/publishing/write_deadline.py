"""Until when a write to the catalog may still land: what the ledger says of it, and what whoever writes keeps to.

No call is begun that might not be over by then, so nobody else writes the same process meanwhile, however slow the
catalog is: a write is made of several calls, each of which is over after `call_bound`.
"""

from collections.abc import Sequence
from datetime import datetime

from shared.atlas.entities import ProcessEntity
from shared.catalog.port import Catalog
from shared.publishing.options import PublishOptions
from shared.records.ledger import NOTHING_BEGUN

CALLS_TO_PLACE = 2
"""Data sets are created with their columns, and without them where these are refused."""


def write_until(catalog: Catalog, how: PublishOptions, processes: Sequence[ProcessEntity]) -> datetime:
    """When a write of these processes that is begun now is over: after placing data sets, and all its own calls."""
    return how.now() + (CALLS_TO_PLACE + catalog.calls_to_write(processes)) * how.call_bound


_CALLS_TO_DESCRIBE = 6
_DESCRIBED_AT_ONCE = 25
"""Half of the columns that a call reads or writes: most are read and then written."""


def calls_to_describe(columns: int) -> int:
    """Of how many calls describing a data set that has, or is to have, so many columns consists at most: it and its
    schema are read, it is written, what it has too many is taken away.
    """
    return _CALLS_TO_DESCRIBE + columns // _DESCRIBED_AT_ONCE


def described_until(how: PublishOptions, calls: int) -> datetime:
    """When a description of so many calls that is begun now is over; a call more for what comes before the first."""
    return how.now() + (calls + 1) * how.call_bound


def is_in_time(how: PublishOptions, until: datetime, calls: int = 1) -> bool:
    """Whether so many calls that are begun now, one after the other, are over by then."""
    return how.now() + calls * how.call_bound <= until


def landed(how: PublishOptions, until: datetime) -> datetime:
    """When nothing lands any more of calls that were begun: there will be no other one."""
    return min(until, how.now() + how.call_bound)


def landed_well(catalog: Catalog, how: PublishOptions, until: datetime) -> datetime:
    """The same of calls that went well in the end: only tries are left whose answers were lost."""
    return landed(how, until) if catalog.may_still_land() else NOTHING_BEGUN
