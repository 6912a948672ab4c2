"""Put failed quality tests into a document of lineage."""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from shared.lineage.document import FailedTest, LineageDocument


class Failure(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A quality test whose last result is a failure; `column` is empty for a test of the whole data set."""

    qualified_name: str
    column: str
    name: str
    at: datetime
    job: str = ""
    severity: str = ""


def with_failures(document: LineageDocument, failures: Iterable[Failure]) -> LineageDocument:
    """The document with these failed tests; those of data sets that it does not have are left out."""
    numbers = {each.qualified_name: number for number, each in enumerate(document.datasets)}
    found = {
        FailedTest(numbers[each.qualified_name], each.column, each.name, each.at, each.job, each.severity)
        for each in failures
        if each.qualified_name in numbers
    }
    return msgspec.structs.replace(document, failed_tests=tuple(sorted(found)))
