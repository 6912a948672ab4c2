"""Hold a contract to the lineage of runs: columns, freshness, quality, inputs, and what a new version breaks."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from shared.governance.checks.checking import Result, result_of
from shared.governance.checks.findings import (
    Facts,
    Finding,
    QualityAssertion,
    UpstreamLineage,
    broken,
    doubt,
    lineage_of,
)
from shared.governance.rules import dataset_matcher, dataset_named
from shared.lineage.document import NOT_SET, LineageDocument
from shared.lineage.graph import LineageGraph, Way
from shared.model import EXCLUDED
from throughline.contracts.data_tests import DataTest
from throughline.contracts.reading import Contract, Freshness, PromisedColumn, PromisedTable, QualityRule

_SHOWN = 5
"""Columns downstream that a finding names; the rest is counted."""
_ONLY_WARNS = "warn"
_TESTS: Mapping[str, tuple[str, ...]] = {
    "nullvalues": ("not_null", "expect_column_values_to_not_be_null"),
    "missingvalues": ("not_null", "expect_column_values_to_not_be_null"),
    "duplicatevalues": ("unique", "expect_column_values_to_be_unique"),
    "duplicatecount": ("unique", "expect_column_values_to_be_unique"),
    "invalidvalues": ("accepted_values", "expect_column_values_to_be_in_set"),
    "rowcount": ("row_count", "expect_table_row_count"),
}
"""By metric of the standard's library: how the tests of dbt and Great Expectations that measure it begin."""
_LOGICAL: tuple[tuple[str, str], ...] = (
    (r"(tiny|small|big|medium)?int(eger)?\d*|long|short|byte|number\(\d+(,0)?\)|serial|bigserial", "integer"),
    (r"float\d*|double( precision)?|real|decimal|numeric|number|dec|money", "number"),
    (r"(n?var)?char(acter)?( varying)?|n?char|n?varchar2?|string|n?text|uuid|uniqueidentifier|clob", "string"),
    (r"bool(ean)?|bit", "boolean"),
    (r"date", "date"),
    (r"(timestamp|datetime)\w*( with(out)? time zone)?", "timestamp"),
    (r"time", "time"),
    (r"array|list", "array"),
    (r"struct|object|record|row|map|json|variant", "object"),
)
"""Patterns of physical types, and the standard's logical type of them."""


def check_contract(
    document: LineageDocument,
    contract: Contract,
    facts: Facts,
    *,
    previous: Contract | None = None,
    upstream: UpstreamLineage | None = None,
    data: tuple[DataTest, ...] | None = None,
) -> tuple[Result, ...]:
    """Judge each promise of each table. `previous`: the version before, of which nothing may be taken away; `upstream`:
    the document's index, where the caller has it; `data`: results of tests of the data, which judge quality and keys
    in place of the tests on record.
    """
    lineage = upstream or lineage_of(document)
    results: list[Result] = []
    earlier = {table.name: table for table in previous.tables} if previous else {}
    for table in contract.tables:
        number, problem = _dataset(document, facts, table)
        case = _TableCase(lineage=lineage, facts=facts, contract=contract, table=table, number=number, data=data)
        results += case.results(problem)
        if previous:
            changes = case.changes(earlier.pop(table.name, table))
            results.append(case.result("compatible", changes, table.line))
    for table in earlier.values():
        number, _ = _dataset(document, facts, table)
        case = _TableCase(lineage=lineage, facts=facts, contract=contract, table=table, number=number)
        gap = broken(f"the contract has no {table.name} any more{case.impact(None)}")
        results.append(case.result("compatible", [gap], 1))
    names = {name for table in contract.tables for name in (table.name, table.physical)}
    elsewhere = [doubt(_not_run(test)) for test in data or () if test.table not in names]
    if elsewhere:
        results.append(result_of(contract.name, "data", elsewhere, 1))
    return tuple(results)


def _not_run(test: DataTest) -> str:
    return f"{test.name}: {test.reason or 'it was not run'}"


def _dataset(document: LineageDocument, facts: Facts, table: PromisedTable) -> tuple[int | None, Finding | None]:
    """The data set of a table by the first name that one alone has; else why there is none."""
    number, problem = dataset_named(document, table.names)
    hint = "; a filter leaves out data sets" if facts.excluded else ""
    return number, doubt(f"{problem}{hint}. {_SAY_WHICH}") if problem else None


_SAY_WHICH = "Its custom property `throughlineDataset` can name it"


@dataclass(frozen=True, slots=True, kw_only=True)
class _TableCase:
    """A table of a contract, with the number of its data set, if there is one."""

    lineage: UpstreamLineage
    facts: Facts
    contract: Contract
    table: PromisedTable
    number: int | None
    data: tuple[DataTest, ...] | None = None

    def results(self, problem: Finding | None) -> Iterator[Result]:
        table = self.table
        judged: list[tuple[str, Callable[[], Iterable[Finding]], int]] = [
            ("columns", self._columns, table.line),
            *(
                (f"fresh_within {promise.text}", partial(self._fresh, promise), promise.line)
                for promise in table.freshness
            ),
        ]
        if self.data is None:
            judged += [
                (f"quality {rule.column or table.name} {rule.name}", partial(self._quality, rule), rule.line)
                for rule in table.quality
            ]
            if any(column.required or column.unique for column in table.columns):
                judged.append(("keys", self._keys, table.line))
        if table.inputs:
            judged.append(("inputs_declared", self._undeclared, table.line))
        for demand, findings, line in judged:
            yield self.result(demand, [problem] if problem else findings(), line)
        lines = {column.name: column.line for column in table.columns}
        for test in self.data or ():
            if test.table in {table.name, table.physical}:
                demand = f"data {test.column or table.name} {test.kind}"
                yield self.result(demand, self._tested(test), lines.get(test.column, table.line))
        if table.inputs:  # a warning: the run that reads it may be still to come
            unused = self.result("inputs_used", [problem] if problem else self._unused(), table.line)
            yield replace(unused, fails=False)

    def result(self, demand: str, findings: Iterable[Finding], line: int) -> Result:
        return result_of(f"{self.contract.name}: {self.table.name}", demand, tuple(findings), line)

    def _tested(self, test: DataTest) -> Iterator[Finding]:
        if test.has_passed is None:
            yield doubt(_not_run(test))
        elif not test.has_passed:
            yield broken(f"{test.name}: {test.reason}{self.impact(test.column or None)}")

    @property
    def name(self) -> str:
        return self.lineage.document.datasets[self.number].name if self.number is not None else self.table.name

    def _seen(self) -> dict[str, tuple[int, str]]:
        """Number and type of each column that runs saw, by its name in lower case."""
        columns = self.lineage.document.columns
        return {
            column.name.lower(): (number, column.type)
            for number, column in enumerate(columns)
            if column.dataset == self.number and column.name
        }

    def _columns(self) -> Iterator[Finding]:
        columns = self._seen()
        if not columns:
            yield doubt(f"no column of {self.name} is known")
            return
        for column in self.table.columns:
            if column.name.lower() not in columns:
                yield broken(f"{self.name} has no column {column.name}")
                continue
            _, kind = columns[column.name.lower()]
            promised = column.physical or column.logical
            if promised and kind and not same_type(column, kind):
                yield broken(f"{self.name}.{column.name} is {kind}, not {promised}{self.impact(column.name)}")

    def _fresh(self, promise: Freshness) -> Iterator[Finding]:
        document = self.lineage.document
        writers = {flow.process for flow in self.lineage.flows_into.get(self.number or 0, ())}
        moments = [document.processes[writer].last_seen for writer in writers]
        times = [document.times[moment] for moment in moments if moment != NOT_SET]
        if promise.age is None:
            yield doubt(f"{promise.text}: write a number and a unit such as h or d")
        elif not times:
            yield doubt(f"no process is known to write {self.name}, so its age is not known")
        elif max(times) < self.facts.now - promise.age:
            yield broken(f"{self.name} was written at {max(times):%Y-%m-%d %H:%M} UTC")

    def _assertions(self, column: str, tests: Iterable[str] = ()) -> list[QualityAssertion]:
        """The results of a column's tests (of all, without a column), as far as their names begin so."""
        qualified_name = self.lineage.document.datasets[self.number or 0].qualified_name
        beginnings = tuple(tests)
        return [
            result
            for result in (self.facts.quality or {}).get(qualified_name, ())
            if column.lower() in ("", result.column.lower()) and (not beginnings or result.name.startswith(beginnings))
        ]

    def _failed(self, results: Iterable[QualityAssertion]) -> Iterator[Finding]:
        for result in results:
            if not result.success and result.severity != _ONLY_WARNS:
                column = f".{result.column}" if result.column else ""
                yield broken(f"{result.name} failed on {self.name}{column}{self.impact(result.column or None)}")

    def _quality(self, rule: QualityRule) -> Iterator[Finding]:
        if self.facts.quality is None:
            yield doubt("the record has no results of quality tests: check a lake instead, named by --lake")
            return
        results = self._assertions(rule.column, _TESTS.get(rule.metric.lower(), ()))
        if not results:
            yield doubt(f"no test of {self.name}{'.' if rule.column else ''}{rule.column} measures it")
        yield from self._failed(results)

    def _keys(self) -> Iterator[Finding]:
        """Failed tests of columns that must have values, or different ones. Untested ones break nothing."""
        for column in self.table.columns:
            if column.required:
                yield from self._failed(self._assertions(column.name, _TESTS["nullvalues"]))
            if column.unique:
                yield from self._failed(self._assertions(column.name, _TESTS["duplicatevalues"]))

    def _inputs(self) -> dict[int, str]:
        """The processes that read each data set for this one."""
        document = self.lineage.document
        flows = self.lineage.flows_into.get(self.number or 0, ())
        return {flow.input: document.processes[flow.process].name for flow in flows if flow.input != self.number}

    def _undeclared(self) -> Iterator[Finding]:
        inputs, is_declared = self._inputs(), dataset_matcher(chain.from_iterable(self.table.inputs))
        if not inputs:
            yield doubt(f"no process writes {self.name} from another data set")
        for number, process in inputs.items():
            dataset = self.lineage.document.datasets[number]
            if dataset.type == EXCLUDED.type:
                yield doubt(f"a filter leaves out an input of {self.name}")
            elif not is_declared(dataset):
                yield broken(f"{process} reads {dataset.qualified_name}, which the contract does not name")

    def _unused(self) -> Iterator[Finding]:
        datasets = [self.lineage.document.datasets[number] for number in self._inputs()]
        for names in self.table.inputs:
            if not any(map(dataset_matcher(names), datasets)):
                yield doubt(f"no run reads {names[0]} for {self.name}")

    def changes(self, previous: PromisedTable) -> Iterator[Finding]:
        """What the version before promised of columns, and this one does not."""
        columns = {column.name.lower(): column for column in self.table.columns}
        for old in previous.columns:
            new = columns.get(old.name.lower())
            if new is None:
                yield broken(f"the contract has no {old.name} any more{self.impact(old.name)}")
                continue
            kinds = (old.physical or old.logical, new.physical or new.logical)
            if all(kinds) and not same_type(old, kinds[1]):
                yield broken(f"{old.name} was {kinds[0]} and is {kinds[1]}{self.impact(old.name)}")
            for key in ("required", "unique"):
                if getattr(old, key) and not getattr(new, key):
                    yield broken(f"{old.name} was {key} and is not{self.impact(old.name)}")

    def impact(self, column: str | None) -> str:
        """The end of a sentence: what depends on a column (None: on any), or nothing."""
        if self.number is None:
            return ""
        starts = [number for name, (number, _) in self._seen().items() if column is None or name == column.lower()]
        graph = LineageGraph(self.lineage.document, conditions=True)
        reached = graph.columns(starts, Way.DOWNSTREAM).distance
        names = sorted({self.lineage.label(number) for number, distance in reached.items() if distance})
        if not names:
            return ""
        more_names = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
        return f": {', '.join(names[:_SHOWN])}{more_names} depend{'s' if len(names) == 1 else ''} on it"


def same_type(column: PromisedColumn, kind: str) -> bool:
    """Whether a type fits the promised one: spelled alike, or both of one logical type. An unknown type fits all."""
    promised = column.physical or column.logical
    if _spelled(promised) == _spelled(kind):
        return True
    logical = {_logical(promised) or column.logical, _logical(kind)}
    return len(logical) == 1 or "" in logical or (logical == {"integer", "number"} and not column.physical)


def _spelled(kind: str) -> str:
    return re.sub(r"\s+", "", kind).lower()


def _logical(kind: str) -> str:
    """The standard's logical type of a physical one, whatever its length and scale; empty if it is not known."""
    name = re.sub(r"\(.*|<.*", "", kind).strip().lower()
    if re.fullmatch(r"(number|decimal|numeric)\(\d+,0\)|number\(\d+\)", _spelled(kind)):
        return "integer"
    return next((logical for pattern, logical in _LOGICAL if re.fullmatch(pattern, name)), "")
