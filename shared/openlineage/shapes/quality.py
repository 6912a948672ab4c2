"""Facets of data quality: what was tested and measured of a data set.

DataQualityAssertionsDatasetFacet 1-1-0, DataQualityMetricsDatasetFacet 1-0-0 and DataQualityMetricsInputDatasetFacet
1-0-3. Producers send them among an input's facets, and among a data set's own. Great Expectations' action (openlineage-
integration-common 1.54) has a facet of its own for tests. A run has its tests in TestRunFacet 1-0-1: dbt's that are SQL
files, checks of freshness. Lineage does not need them; the lake has them in `silver/quality`.
"""

from typing import Annotated

from shared.openlineage.shapes.base import Wire
from shared.openlineage.shapes.bounds import AssertionsOf, ColumnName, Columns, Name, Quantiles


class Assertion(Wire, frozen=True):
    """A test and its result. Without `column` it is of the whole data set. `severity`: error or warn; `expected` and
    `actual`: values as text.
    """

    assertion: Name
    success: bool
    column: ColumnName | None = None
    severity: Name | None = None
    name: Name | None = None
    expected: Name | None = None
    actual: Name | None = None


class Assertions(Wire, frozen=True):
    """The tests of a data set."""

    assertions: Annotated[tuple[Assertion, ...], AssertionsOf] | None = None


class Expectation(Wire, frozen=True):
    """A test of Great Expectations and its result. `success` is a text where the result is numpy's bool, which
    OpenLineage's client cannot write: such a result is not known.
    """

    expectation_type: Name
    success: bool | Name | None = None
    column: ColumnName | None = None


class Expectations(Wire, frozen=True):
    """The tests of a data set by Great Expectations."""

    assertions: Annotated[tuple[Expectation, ...], AssertionsOf] | None = None


class TestExecution(Wire, frozen=True):
    """A test of a run. `status`: pass, fail or skip; `type`: `freshness`, `not_null` and others."""

    name: Name
    status: Name
    type: Name | None = None
    severity: Name | None = None
    expected: Name | None = None
    actual: Name | None = None


class RunTests(Wire, frozen=True):
    """The tests that a run executed."""

    tests: Annotated[tuple[TestExecution, ...], AssertionsOf] | None = None


class ColumnMetrics(Wire, frozen=True):
    """What was measured of a column; quantiles by their number, as `0.25`."""

    null_count: float | None = None
    distinct_count: float | None = None
    sum: float | None = None
    count: float | None = None
    min: float | None = None
    max: float | None = None
    quantiles: Annotated[dict[Name, float | None], Quantiles] | None = None


class Metrics(Wire, frozen=True):
    """What was measured of a data set, and of its columns."""

    row_count: int | None = None
    bytes: int | None = None
    file_count: int | None = None
    last_updated: Name | None = None
    column_metrics: Annotated[dict[ColumnName, ColumnMetrics], Columns] | None = None
