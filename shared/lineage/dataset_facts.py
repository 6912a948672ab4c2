"""Data sets in the document of lineage: where they lie and what their tags are called; when they were last written, how
much, and which tests they pass; changes of their schemas.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from operator import attrgetter
from typing import NamedTuple
from urllib.parse import unquote

import msgspec
from msgspec.structs import replace

from shared.lineage.document import Dataset, FailedTest, LineageDocument, SchemaChange
from shared.model import Declared, QualityTest, latest_tests

PLACEHOLDER_TYPE = "DataSet"
_PROCESS = re.compile(r"throughline:[^/]*://(?P<namespace>[^/]+)/(?P<job>[^/]+)/.")
_STORE = re.compile(r"^[A-Za-z0-9+.-]+://[^/?]*")


def place(qualified_name: str, asset_type: str) -> tuple[str, str, str]:
    """The store (`scheme://host`, else the type), the zone (container or database; may be empty) and the short name."""
    store_match = _STORE.match(qualified_name)
    store = store_match.group() if store_match else asset_type
    path = qualified_name[store_match.end() :] if store_match else qualified_name
    segments = [segment for segment in path.partition("?")[0].split("/") if segment]
    zone = segments[0] if len(segments) > 1 else ""
    return store, zone, segments[-1] if segments else qualified_name


def job_of(process: str) -> tuple[str, str]:
    """The namespace and the identity of the job in a process's qualified name; empty where it has another form.

    The form is that of shared/translation/process/identity.py: `throughline:VERSION://NAMESPACE/JOB/SINK`, both quoted.
    """
    match = _PROCESS.match(process)
    return (unquote(match["namespace"]), unquote(match["job"])) if match else ("", "")


def dataset_of(
    name: str, asset_type: str, declared: Declared, event_name: tuple[str, str] = ("", ""), shown_name: str = ""
) -> Dataset:
    """A data set by its qualified name and type, with what events declare of it; `event_name`: its namespace and name
    in events. `shown_name`: its short name, if the qualified name does not end with that.
    """
    store, zone, short = place(name, asset_type)
    return Dataset(
        qualified_name=name,
        type=asset_type,
        name=shown_name or short,
        store=store,
        zone=zone,
        placeholder=asset_type == PLACEHOLDER_TYPE,
        owner=declared.owner,
        description=declared.description,
        tags=tuple(sorted({tag_name(key, value) for key, value, column in declared.tags if not column})),
        namespace=event_name[0],
        full_name=event_name[1],
        hierarchy=declared.levels,
    )


def tag_name(key: str, value: str) -> str:
    """A tag of OpenLineage's facet `tags` as one text: `key:value`, or the key alone where it only says true."""
    return key if value.lower() in {"", "true"} else f"{key}:{value}"


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


def with_facts(
    document: LineageDocument,
    *,
    failed_tests: Iterable[tuple[str, FailedTest]] = (),
    schema_changes: Iterable[tuple[str, SchemaChange]] = (),
) -> LineageDocument:
    """The document with these facts too, each with the qualified name of its data set; those of data sets that it does
    not have are left out.
    """
    numbers = {dataset.qualified_name: number for number, dataset in enumerate(document.datasets)}
    tests = {replace(test, dataset=numbers[name]) for name, test in failed_tests if name in numbers}
    changes = {replace(change, dataset=numbers[name]) for name, change in schema_changes if name in numbers}
    return replace(
        document,
        failed_tests=tuple(sorted(tests.union(document.failed_tests))),
        schema_changes=tuple(sorted(changes.union(document.schema_changes))),
    )
