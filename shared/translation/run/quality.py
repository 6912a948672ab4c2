"""Data quality in one event: the tests of its data sets with their results, and what was measured of them.

Producers send both among an input's own facets (dbt, Great Expectations) or among a data set's. The specification has
them for inputs; those of outputs count alike. Tests of Great Expectations have a facet of its own. A run's own tests
(dbt's that are SQL files, checks of freshness) are tests of each of its inputs, unless those have tests themselves: dbt
sends such a test in both places.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial

import msgspec

from shared.model import Asset, QualityTest, latest_tests
from shared.openlineage.decoding import Event
from shared.openlineage.facets import Assertions, ColumnMetrics, Expectations, Metrics, TestExecution
from shared.openlineage.run import MergedDataset
from shared.openlineage.wire import Dataset, RunEvent
from shared.secrets import short_text
from shared.translation.run.datasets import Place

TEST, MEASURE = "test", "measure"
"""The kinds of results."""


class QualityResult(msgspec.Struct, frozen=True, kw_only=True, order=True, gc=False):
    """A test of a data set or of one of its columns with its result, or a value that was measured of it.

    `name` is the test (`not_null`, with the producer's own name behind a slash) or the measure (`rowCount`,
    `quantile 0.5`); `column` is empty for the whole data set. A test has `success`, and `severity`, `expected` and
    `actual` where the event has them; a measure has its `value`.
    """

    qualified_name: str
    namespace: str
    dataset: str
    column: str
    kind: str
    name: str
    success: bool | None = None
    severity: str = ""
    expected: str = ""
    actual: str = ""
    value: float | None = None


def quality_results(body: RunEvent, place: Place) -> tuple[QualityResult, ...]:
    """All results in an event, sorted, each once. `place` names its data sets."""
    results: set[QualityResult] = set()
    for dataset in body.datasets:
        parts = [facets.quality for facets in (dataset.input_facets, dataset.facets) if facets and any(facets.quality)]
        if parts:
            make = _of(dataset, place)
            results.update(result for part in parts for result in _results(make, *part))
    if body.tests and not any(result.kind == TEST for result in results):
        makers = [_of(dataset, place) for dataset in body.inputs or ()] or [_OF_NO_DATA_SET]
        results.update(_executed(make, test) for make in makers for test in body.tests if test.status != _NOT_EXECUTED)
    return tuple(sorted(results, key=repr))


def tests_by_asset(events: Iterable[Event], place: Place) -> dict[Asset, tuple[QualityTest, ...]]:
    """The last result of each test of a run, by data set."""
    tests: dict[Asset, list[QualityTest]] = {}
    for event in events:
        body = event.body
        if body is None or not body.has_quality:
            continue
        assets = {asset.qualified_name: asset for asset in map(place.asset, map(_named, body.datasets))}
        for result in quality_results(body, place):
            asset = assets.get(result.qualified_name)
            if asset is None or result.kind != TEST:
                continue
            test = QualityTest(
                at=event.time,
                column=short_text(result.column),
                name=result.name,
                passed=bool(result.success),
                job=short_text(body.job.name),
                severity=result.severity,
            )
            tests.setdefault(asset, []).append(test)
    return {asset: latest_tests(results) for asset, results in tests.items()}


_PASSED, _NOT_EXECUTED = "pass", "skip"


def _executed(make: "_Result", test: TestExecution) -> QualityResult:
    return make(
        column="",
        kind=TEST,
        name=short_text(f"{test.type}/{test.name}" if test.type else test.name),
        success=test.status == _PASSED,
        severity=short_text(test.severity),
        expected=short_text(test.expected),
        actual=short_text(test.actual),
    )


def _of(dataset: Dataset, place: Place) -> "_Result":
    asset = place.asset(_named(dataset))
    return partial(QualityResult, qualified_name=asset.qualified_name, namespace=asset.namespace, dataset=asset.name)


def _named(dataset: Dataset) -> MergedDataset:
    links = dataset.facets.symlinks if dataset.facets else None
    names = {(link.namespace, link.name) for link in links.identifiers or ()} if links else ()
    return MergedDataset(namespace=dataset.namespace, name=dataset.name, symlinks=tuple(sorted(names)))


_Result = Callable[..., QualityResult]
"""Makes a result of one data set."""

_OF_NO_DATA_SET: _Result = partial(QualityResult, qualified_name="", namespace="", dataset="")


def _results(
    result: _Result, tested: Assertions | None, expected: Expectations | None, measured: Metrics | None
) -> Iterator[QualityResult]:
    for assertion in (tested.assertions or ()) if tested else ():
        yield result(
            column=assertion.column or "",
            kind=TEST,
            name=short_text(f"{assertion.assertion}/{assertion.name}" if assertion.name else assertion.assertion),
            success=assertion.success,
            severity=short_text(assertion.severity),
            expected=short_text(assertion.expected),
            actual=short_text(assertion.actual),
        )
    for expectation in (expected.assertions or ()) if expected else ():
        if isinstance(expectation.success, bool):
            yield result(
                column=expectation.column or "",
                kind=TEST,
                name=short_text(expectation.expectation_type),
                success=expectation.success,
            )
    if measured:
        totals = {
            "rowCount": measured.row_count,
            "bytes": measured.bytes,
            "fileCount": measured.file_count,
            "lastUpdated": _seconds(measured.last_updated),
        }
        yield from _measures(result, "", totals)
        for column, metrics in (measured.column_metrics or {}).items():
            yield from _measures(result, column, _of_column(metrics))


def _seconds(time: str | None) -> float | None:
    """A time as seconds since 1970; None where it is none."""
    try:
        moment = datetime.fromisoformat(time or "")
    except ValueError:
        return None
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()


def _of_column(metrics: ColumnMetrics) -> dict[str, float | None]:
    return {
        "nullCount": metrics.null_count,
        "distinctCount": metrics.distinct_count,
        "sum": metrics.sum,
        "count": metrics.count,
        "min": metrics.min,
        "max": metrics.max,
        **{f"quantile {quantile}": value for quantile, value in (metrics.quantiles or {}).items()},
    }


def _measures(result: _Result, column: str, values: Mapping[str, float | None]) -> Iterator[QualityResult]:
    for name, value in values.items():
        if value is not None:
            yield result(column=column, kind=MEASURE, name=short_text(name), value=float(value))
