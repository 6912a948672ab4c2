"""The data sets of one run as assets (by identity, by folder, by table name), with their schemas; and data quality: the
tests of data sets with their results, and what was measured of them.

Producers send both among an input's own facets (dbt, Great Expectations) or among a data set's. The specification has
them for inputs; those of outputs count alike. Tests of Great Expectations have a facet of its own. A run's own tests
(dbt's that are SQL files, checks of freshness) are tests of each of its inputs, unless those have tests themselves: dbt
sends such a test in both places.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property, lru_cache, partial

import msgspec
from msgspec.structs import replace

from shared.model import NOTHING_DECLARED, Asset, AssetSchema, QualityTest, latest_tests
from shared.naming.matching import underivable_names
from shared.naming.names import Names, canonical, is_noise
from shared.naming.stores.families import Identity, RunEnvironment
from shared.naming.stores.services import split_names
from shared.openlineage.decoding import Event
from shared.openlineage.facets import Assertions, ColumnMetrics, Expectations, Metrics, TestExecution
from shared.openlineage.run import MergedDataset, MergedRun
from shared.openlineage.wire import STREAMING, Dataset, RunEvent
from shared.secrets import short_text, without_secrets
from shared.translation.process.union import after, by_asset, declared_as
from shared.translation.run.application import RunContext


class Place(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How a run's data sets are named: the rules, and the run's environment."""

    names: Names
    environment: RunEnvironment

    @classmethod
    def of(cls, context: RunContext) -> "Place":
        """The place of a run: the rules of names and the environment of its context."""
        return cls(names=context.names, environment=context.facts.environment)

    def asset(self, dataset: MergedDataset) -> Asset:
        """The asset of a data set, with the events' spelling without secrets."""
        length = len(dataset.namespace) + len(dataset.name)
        for namespace, name in dataset.symlinks:
            length += len(namespace) + len(name)
        named = _remembered if length <= _SHORT else _named
        asset = named(self, dataset.namespace, dataset.name, dataset.symlinks)
        if dataset.tables and not asset.tables:  # the listener does not name the table
            return replace(asset, tables=tuple(sorted(map(table_name, dataset.tables))))
        return asset


_REMEMBERED = 16_384
_SHORT = 2_000
"""Characters. Longer names are not cached: senders must not decide how much memory is used."""


def _named(place: Place, namespace: str, name: str, symlinks: tuple[tuple[str, str], ...]) -> Asset:
    naming = place.names.name(canonical(namespace, name, place.environment), symlinks, place.environment)
    best = naming.best
    namespace, name = without_secrets(namespace, name)
    tables = tuple(sorted({table_name(table) for _, table in symlinks}))
    return Asset(
        type=best.type,
        qualified_name=best.qualified_name,
        namespace=namespace,
        name=name,
        tables=tables,
        also=underivable_names(best.key, [other.key for other in naming.others]) if naming.others else (),
    )


_remembered = lru_cache(maxsize=_REMEMBERED)(_named)


_SESSION_CATALOG = "spark_catalog."


def table_name(name: str) -> str:
    """A table's name for comparison: in lower case, without the session catalog."""
    return name.lower().removeprefix(_SESSION_CATALOG)


Spelled = Sequence[tuple[Identity, MergedDataset]]
"""Data sets as a run spells them, with their identities."""


class Datasets(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The data sets that a run names: `inputs` and `outputs` by canonical identity, without noise."""

    place: Place
    inputs: dict[Identity, Asset]
    outputs: dict[Identity, Asset]
    read: Spelled
    written: Spelled
    """All inputs and outputs, noise included, as the run spells them."""
    linked: dict[Identity, Asset]
    """By the symlinks of the run's data sets: table names."""

    @classmethod
    def of(cls, run: MergedRun, context: RunContext) -> "Datasets":
        """From a run and its context."""
        place, environment = Place.of(context), context.facts.environment
        spelled_inputs = [(canonical(*dataset.key, environment), dataset) for dataset in run.inputs]
        spelled_outputs = [(canonical(*dataset.key, environment), dataset) for dataset in run.outputs]
        inputs, outputs = (
            {identity: place.asset(dataset) for identity, dataset in _united(spelled) if not is_noise(identity)}
            for spelled in (_sources(run, spelled_inputs, environment), spelled_outputs)
        )
        linked: dict[Identity, Asset] = {}
        for spelled, assets in ((spelled_inputs, inputs), (spelled_outputs, outputs)):
            for identity, dataset in spelled:
                if dataset.symlinks and (linked_asset := assets.get(identity)):
                    for symlink in dataset.symlinks:
                        linked[canonical(*symlink, environment)] = linked_asset
        if linked:
            inputs = {identity: linked.get(identity, asset) for identity, asset in inputs.items()}
        return cls(
            place=place, inputs=inputs, outputs=outputs, read=spelled_inputs, written=spelled_outputs, linked=linked
        )

    @cached_property
    def _folders(self) -> dict[tuple[str, str], Asset]:
        """The inputs by namespace and name without a trailing slash; a store's root has an empty name."""
        return {(identity.namespace, identity.name.rstrip("/")): asset for identity, asset in self.inputs.items()}

    @cached_property
    def _lengths(self) -> tuple[int, ...]:
        """The distinct lengths of the folders' names, longest first."""
        return tuple(sorted({len(name) for _, name in self._folders}, reverse=True))

    def resolve(self, namespace: str, name: str) -> Asset | None:
        """The asset of a data set in column lineage: one of the run's own, else the nearest input folder above it (a
        glob's inputs are folders, but its columns name files), else a new one; None for noise.
        """
        identity = canonical(namespace, name, self.place.environment)
        if is_noise(identity):
            return None
        asset = self.inputs.get(identity) or self.outputs.get(identity) or self.linked.get(identity)
        return asset or self._folder(identity) or self.place.asset(MergedDataset(namespace=namespace, name=name))

    def _folder(self, identity: Identity) -> Asset | None:
        for length in self._lengths:
            if length == 0 or identity.name[length : length + 1] == "/":
                asset = self._folders.get((identity.namespace, identity.name[:length]))
                if asset:
                    return asset
        return None


_DATA_FILE = re.compile(r"/[^/]+\.(?:json|jsonl|ndjson|csv|tsv|txt|text|xml|parquet|orc|avro|gz|bz2|zst|snappy|lz4)$")


def _sources(run: MergedRun, spelled_inputs: Spelled, environment: RunEnvironment) -> Spelled:
    """The inputs with lists of topics split. A stream's files become their folder, even if a batch read one file."""
    streaming = run.processing_type.upper() == STREAMING
    sources: list[tuple[Identity, MergedDataset]] = []
    for spelled in spelled_inputs:
        dataset = spelled[1]
        if "," in dataset.name:
            names = [name for _, name in split_names(*dataset.key)]
        elif streaming and (file := _DATA_FILE.search(dataset.name)):
            names = [dataset.name[: file.start()]]
        else:
            sources.append(spelled)
            continue
        sources += [(canonical(dataset.namespace, name, environment), replace(dataset, name=name)) for name in names]
    return sources


def _united(datasets: Spelled) -> Iterable[tuple[Identity, MergedDataset]]:
    """One data set for each identity, with the symlinks of all of its spellings."""
    if len(datasets) < 2:  # noqa: PLR2004 - one, or none: most runs
        return datasets
    by_identity: dict[Identity, MergedDataset] = {}
    for identity, dataset in datasets:
        if identity not in by_identity:
            by_identity[identity] = dataset
        elif dataset.symlinks:
            symlinks = dict.fromkeys((*by_identity[identity].symlinks, *dataset.symlinks))
            by_identity[identity] = replace(by_identity[identity], symlinks=tuple(symlinks))
    return by_identity.items()


SeenSchema = tuple[str, bool, tuple[tuple[str, str], ...]]
"""An asset's qualified name, whether the run wrote it, and its columns with their types."""


def schemas_in(datasets: Datasets) -> tuple[SeenSchema, ...]:
    """The schemas of all data sets of a run but noise; of one that is read and written the written one."""
    schemas = {
        asset.qualified_name: (asset.qualified_name, is_written, dataset.schema)
        for asset, dataset, is_written in _datasets_to_report(datasets)
        if dataset.schema
    }
    return tuple(schemas[name] for name in sorted(schemas))


def seen_schemas(datasets: Datasets, names: Collection[str]) -> tuple[AssetSchema, ...]:
    """The schemas of a run's data sets with these qualified names, and what is declared of them; of one that is read
    and written the written one.
    """
    schemas: list[AssetSchema] = []
    for asset, dataset, _ in _datasets_to_report(datasets):
        if asset.qualified_name in names:
            declared = declared_as(dataset.owners, dataset.description, dataset.tags, dataset.levels)
            if dataset.schema or declared is not NOTHING_DECLARED:
                schemas.append(
                    AssetSchema(qualified_name=asset.qualified_name, columns=dataset.schema, declared=declared)
                )
    return by_asset(schemas, after)


def _datasets_to_report(datasets: Datasets) -> Iterator[tuple[Asset, MergedDataset, bool]]:
    """The data sets of a run but noise, and whether each is written: first all that are read."""
    sides = ((datasets.read, datasets.inputs, False), (datasets.written, datasets.outputs, True))
    for spelled, assets, is_written in sides:
        for identity, dataset in spelled:
            if asset := assets.get(identity):
                yield asset, dataset, is_written


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
        assets = {asset.qualified_name: asset for asset in map(place.asset, map(_merged_dataset, body.datasets))}
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
    asset = place.asset(_merged_dataset(dataset))
    return partial(QualityResult, qualified_name=asset.qualified_name, namespace=asset.namespace, dataset=asset.name)


def _merged_dataset(dataset: Dataset) -> MergedDataset:
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
