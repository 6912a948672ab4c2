"""What is known of data sets beside lineage: when they were last written, how much, and which tests they pass."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from operator import attrgetter
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from shared.lineage.document import Dataset, FailedTest, LineageDocument
from shared.model import QualityTest, latest_tests


class Amount(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """How many rows and bytes the last run of a process wrote to a data set (by qualified name)."""

    qualified_name: str
    rows: int | None = None
    size: int | None = None


class _LastWrite(NamedTuple):
    time: datetime
    amount: Amount


_time_of = attrgetter("time")


class DatasetFacts:
    """The last write of each data set, by whichever process, and the last result of each of its quality tests."""

    def __init__(self) -> None:
        self._writes: dict[str, _LastWrite] = {}
        self._tests: dict[str, tuple[QualityTest, ...]] = {}

    def note_writes(self, time: datetime | None, outputs: Iterable[str], amounts: Iterable[Amount]) -> None:
        """A process last wrote these data sets at this time (None: never), and these amounts, as far as known."""
        if time is None:
            return
        by_name = {amount.qualified_name: amount for amount in amounts}
        for name in outputs:
            write = _LastWrite(time, by_name.get(name, Amount(name)))
            self._writes[name] = max(write, self._writes.get(name, write), key=_time_of)

    def note_tests(self, name: str, tests: tuple[QualityTest, ...]) -> datetime:
        """Results of quality tests of a data set; returns the time of the last result of all that are noted of it."""
        self._tests[name] = latest_tests((*self._tests.get(name, ()), *tests))
        return self._tests[name][-1].at

    def noted(self, dataset: Dataset, number_of: Callable[[datetime | None], int]) -> Dataset:
        """The data set with its facts; `number_of` gives the number of a time in the document."""
        if write := self._writes.get(dataset.qualified_name):
            amount = write.amount
            dataset = replace(dataset, written=number_of(write.time), rows=amount.rows, size=amount.size)
        if tests := self._tests.get(dataset.qualified_name):
            passed = sum(test.passed for test in tests)
            dataset = replace(dataset, tested=number_of(tests[-1].at), passed_tests=passed)
        return dataset

    def failed_tests(self, numbers: Mapping[str, int]) -> Iterator[FailedTest]:
        """The tests whose last result is a failure; `numbers` are those of the data sets by qualified name."""
        for name, tests in self._tests.items():
            for test in tests:
                if not test.passed:
                    yield FailedTest(numbers[name], test.column, test.name, test.at, test.job, test.severity)


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
    numbers = {dataset.qualified_name: number for number, dataset in enumerate(document.datasets)}
    failed_tests = {
        FailedTest(
            numbers[failure.qualified_name], failure.column, failure.name, failure.at, failure.job, failure.severity
        )
        for failure in failures
        if failure.qualified_name in numbers
    }
    return replace(document, failed_tests=tuple(sorted(failed_tests)))
