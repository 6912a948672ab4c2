"""Data quality in one event: the tests of its data sets with their results, and what was measured of them.

Producers send both among an input's own facets (dbt, Great Expectations) or among a data set's. The specification has
them for inputs; those of outputs count alike. Tests of Great Expectations have a facet of its own.
"""

from collections.abc import Iterator

import msgspec

from shared.openlineage.run import MergedDataset
from shared.openlineage.shapes.quality import Assertions, ColumnMetrics, Expectations, Metrics
from shared.openlineage.wire import Dataset, Quality, RunEvent
from shared.secrets import text_without_secrets
from shared.translation.run.datasets import Place

TEST, MEASURE = "test", "measure"
"""The kinds of results."""

_MAX_TEXT = 300


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
    found: set[QualityResult] = set()
    for dataset in _datasets(body):
        results = [each for parts in _parts(dataset) for each in _results(*parts)]
        if results:
            asset = place.asset(_named(dataset))
            names = {"qualified_name": asset.qualified_name, "namespace": asset.namespace, "dataset": asset.name}
            found.update(msgspec.structs.replace(each, **names) for each in results)
    return tuple(sorted(found, key=repr))


def _datasets(body: RunEvent) -> tuple[Dataset, ...]:
    return (*(body.inputs or ()), *(body.outputs or ()))


def _parts(dataset: Dataset) -> Iterator[Quality]:
    """What an input's facets and a data set's own say."""
    return (facets.quality for facets in (dataset.input_facets, dataset.facets) if facets)


def _named(dataset: Dataset) -> MergedDataset:
    links = dataset.facets.symlinks if dataset.facets else None
    others = {(link.namespace, link.name) for link in links.identifiers or ()} if links else ()
    return MergedDataset(namespace=dataset.namespace, name=dataset.name, symlinks=tuple(sorted(others)))


def _results(
    tested: Assertions | None, expected: Expectations | None, measured: Metrics | None
) -> Iterator[QualityResult]:
    for each in (tested.assertions or ()) if tested else ():
        yield QualityResult(
            qualified_name="",
            namespace="",
            dataset="",
            column=each.column or "",
            kind=TEST,
            name=_clean(f"{each.assertion}/{each.name}" if each.name else each.assertion),
            success=each.success,
            severity=_clean(each.severity),
            expected=_clean(each.expected),
            actual=_clean(each.actual),
        )
    for expectation in (expected.assertions or ()) if expected else ():
        if isinstance(expectation.success, bool):
            yield QualityResult(
                qualified_name="",
                namespace="",
                dataset="",
                column=expectation.column or "",
                kind=TEST,
                name=_clean(expectation.expectation_type),
                success=expectation.success,
            )
    if measured:
        for name, value in (
            ("rowCount", measured.row_count),
            ("bytes", measured.bytes),
            ("fileCount", measured.file_count),
        ):
            if value is not None:
                yield _measure("", name, float(value))
        for column, metrics in (measured.column_metrics or {}).items():
            yield from _of_column(column, metrics)


def _of_column(column: str, metrics: ColumnMetrics) -> Iterator[QualityResult]:
    single = {
        "nullCount": metrics.null_count,
        "distinctCount": metrics.distinct_count,
        "sum": metrics.sum,
        "count": metrics.count,
        "min": metrics.min,
        "max": metrics.max,
        **{f"quantile {quantile}": value for quantile, value in (metrics.quantiles or {}).items()},
    }
    for name, value in single.items():
        if value is not None:
            yield _measure(column, name, value)


def _measure(column: str, name: str, value: float) -> QualityResult:
    return QualityResult(
        qualified_name="", namespace="", dataset="", column=column, kind=MEASURE, name=_clean(name), value=value
    )


def _clean(text: str | None) -> str:
    return text_without_secrets(text)[:_MAX_TEXT] if text else ""
