"""The column pairs that events name, and which of them the lineage made of the events lacks."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shared.model import Process
from shared.naming.names import BUILT_IN, Names
from shared.openlineage.decoding import Event
from shared.openlineage.wire import ColumnLineage, InputField
from shared.translation.application.context import RunContext, application_facts_of
from shared.translation.run.datasets import Datasets
from shared.translation.run.merging import merge_run


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ColumnPair:
    """A column of a data set and the one that it reaches, the data sets by their qualified names. An empty `output`
    stands for all rows.
    """

    source: str
    input: str
    target: str
    output: str

    def __str__(self) -> str:
        return f"{self.source}.{self.input} → {self.target}.{self.output or '*'}"


def named_pairs(events: Iterable[Event], *, names: Names = BUILT_IN) -> frozenset[ColumnPair]:
    """The pairs in the column lineage facets of these events, without those of a data set with itself, and those of
    data sets that are none (logs, staging folders).
    """
    by_run: dict[str, list[Event]] = {}
    for event in events:
        if event.body is not None:
            by_run.setdefault(event.run_id, []).append(event)
    return frozenset(pair for of_run in by_run.values() for pair in _of_run(of_run, names))


def missing_pairs(named: Iterable[ColumnPair], processes: Iterable[Process]) -> tuple[ColumnPair, ...]:
    """The pairs that no process has, sorted. A column of which all rows depend reaches each column of its target; case
    makes no difference.
    """
    known = {
        (edge.input.qualified_name, edge.input.column.lower(), edge.output.qualified_name, edge.output.column.lower())
        for process in processes
        for edge in process.columns
    }
    return tuple(sorted(pair for pair in named if known.isdisjoint(_as_edges(pair))))


def _as_edges(pair: ColumnPair) -> set[tuple[str, str, str, str]]:
    source = pair.source, pair.input.lower(), pair.target
    return {(*source, pair.output.lower()), (*source, "")}


def _of_run(events: list[Event], names: Names) -> Iterator[ColumnPair]:
    run = merge_run(events)
    datasets = Datasets.of(run, RunContext(facts=application_facts_of(run), names=names))
    for event in events:
        for output in (event.body.outputs if event.body else None) or ():
            lineage = output.facets.column_lineage if output.facets else None
            target = datasets.resolve(output.namespace, output.name) if lineage else None
            if lineage is None or target is None:
                continue
            for source, column in _fields(lineage):
                asset = datasets.resolve(source.namespace, source.name)
                if asset and asset.qualified_name != target.qualified_name:
                    yield ColumnPair(
                        source=asset.qualified_name,
                        input=source.field,
                        target=target.qualified_name,
                        output=column,
                    )


def _fields(lineage: ColumnLineage) -> Iterator[tuple[InputField, str]]:
    """Each source of a facet with the column that it reaches."""
    for column, field in (lineage.fields or {}).items():
        for source in field.input_fields or ():
            yield source, column
    for source in lineage.dataset or ():
        yield source, ""
