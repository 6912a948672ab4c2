"""Compare lineage with the truth that a job's author wrote down: processes, their inputs, and every column edge.

A truth file names data sets by the end of their location, and is written from the job's meaning, never from its events:
`processes` is the job's work as far as any listener reports it.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from shared.model import OPAQUE, Asset, ColumnEdge, Process
from shared.naming.names import canonical

Edge = tuple[tuple[str, str], tuple[str, str | None], str, bool]
"""Input (data set, column), output (data set, column or None for all rows), kind (OPAQUE beside DIRECT and INDIRECT),
masked.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """One process as its author wrote it down."""

    output: str
    operations: frozenset[str]
    inputs: frozenset[str]
    edges: frozenset[Edge]


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """The expected lineage of one or several jobs."""

    processes: tuple[Expected, ...]

    @classmethod
    def of(cls, *paths: Path) -> Self:
        """Read the `processes` of truth files."""
        documents = [json.loads(path.read_text()) for path in paths]
        return cls(
            processes=tuple(expected_process(process) for document in documents for process in document["processes"])
        )

    def differences(self, processes: Iterable[Process]) -> list[str]:
        """Return the differences between these processes and the truth, one sentence each."""
        true_processes = {process.output: process for process in self.processes}
        gaps, outputs = [], set()
        for process in processes:
            reported = self.as_reported(process)
            outputs.add(reported.output)
            if reported.output in true_processes:
                gaps += _compare(true_processes[reported.output], reported)
            else:
                gaps.append(f"{reported.output}: a process that should not be")
        return [*gaps, *(f"{output}: the process is missing" for output in true_processes if output not in outputs)]

    def as_reported(self, process: Process) -> Expected:
        """Return a process with the truth's names."""
        names = self.called(process)

        def edge(reported: ColumnEdge) -> Edge:
            source, sink = names[reported.input.qualified_name], names[reported.output.qualified_name]
            kind = OPAQUE if reported.is_opaque else str(reported.kind)
            return ((source, reported.input.column), (sink, reported.output.column or None), kind, reported.masked)

        return Expected(
            output=names[process.outputs[0].qualified_name],
            operations=frozenset(process.operations),
            inputs=frozenset(names[asset.qualified_name] for asset in process.inputs),
            edges=frozenset(map(edge, process.columns)),
        )

    def called(self, process: Process) -> dict[str, str]:
        """Return the truth's names of a process's inputs and output, by qualified name."""
        names = {name for expected in self.processes for name in (expected.output, *expected.inputs)}
        return {asset.qualified_name: _called(asset, names) for asset in (*process.inputs, *process.outputs)}


def _compare(truth: Expected, reported: Expected) -> list[str]:
    kinds: list[tuple[str, frozenset[Any], frozenset[Any]]] = [
        ("input", truth.inputs, reported.inputs),
        ("operation", truth.operations, reported.operations),
        ("edge", truth.edges, reported.edges),
    ]
    return [
        f"{truth.output}: {kind} {word}: {fact}"
        for kind, should, is_ in kinds
        for word, gap in (("missing", should - is_), ("too many", is_ - should))
        for fact in sorted(gap, key=str)
    ]


def _called(asset: Asset, names: set[str]) -> str:
    """Return the truth's name of an asset: the longest one that its own name ends with, else its own name."""
    identity = canonical(asset.namespace, asset.name)
    path = end = f"{identity.namespace}/{identity.name.strip('/')}"
    while end and end not in names:
        end = end.partition("/")[2]
    return end or path


def expected_process(process: Mapping[str, Any]) -> Expected:
    """Read one of the `processes` of a truth file."""
    return Expected(
        output=process["output"],
        operations=frozenset(process["operations"]),
        inputs=frozenset(process["inputs"]),
        edges=frozenset(map(edge_of, process["columns"])),
    )


def edge_of(value: Mapping[str, Any]) -> Edge:
    """Read an edge of a truth file."""
    source, sink = value["input"], value["output"]
    return ((source[0], source[1]), (sink[0], sink[1]), value["kind"], value["masked"])
