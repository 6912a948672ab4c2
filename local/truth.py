"""Holding lineage to what a job's author wrote down: the processes, their inputs, and every column edge.

A truth file names data sets by the end of their path, or by the end of a table's name, and is written from the job's
meaning, never from its events. `not_told` lists what the listener never says, `told_wrongly` what it says otherwise,
both with the reason: so the truth stays whole and every gap is named.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared.model import Asset, ColumnEdge, Process

Edge = tuple[tuple[str, str], tuple[str, str | None], str, bool]
"""Input (data set, column), output (data set, column or None for all rows), kind, masked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """One process as its author has it."""

    output: str
    operations: frozenset[str]
    inputs: frozenset[str]
    edges: frozenset[Edge]


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What a job must give, with the listener's known gaps taken into account."""

    processes: tuple[Expected, ...]

    @classmethod
    def read(cls, *paths: Path) -> "Truth":
        """From truth files, together."""
        return cls(processes=tuple(process for path in paths for process in cls._one(path).processes))

    @classmethod
    def _one(cls, path: Path) -> "Truth":
        whole: dict[str, Any] = json.loads(path.read_text())
        not_told = {_edge(gap["edge"]) for gap in whole["not_told"] if "edge" in gap}
        told_instead = {_edge(gap["edge"]): _edge(gap["told"]) for gap in whole["told_wrongly"]}
        return cls(
            processes=tuple(
                Expected(
                    output=process["output"],
                    operations=frozenset(process["operations"]),
                    inputs=frozenset(process["inputs"]),
                    edges=frozenset(
                        told_instead.get(edge, edge) for edge in map(_edge, process["columns"]) if edge not in not_told
                    ),
                )
                for process in whole["processes"]
            )
        )

    def differences(self, processes: Iterable[Process]) -> list[str]:
        """In what these processes differ from the truth, one sentence each; empty when they are the same."""
        names = {name for each in self.processes for name in (each.output, *each.inputs)}
        found: list[str] = []
        expected = {each.output: each for each in self.processes}
        seen: set[str] = set()
        for process in processes:
            known = {asset.qualified_name: _called(asset, names) for asset in (*process.inputs, *process.outputs)}
            output = known[process.outputs[0].qualified_name]
            seen.add(output)
            if output not in expected:
                found.append(f"{output}: a process that should not be")
                continue
            found += _compare(expected[output], process, known)
        found += [f"{output}: the process is missing" for output in expected if output not in seen]
        return found


def _compare(expected: Expected, process: Process, known: Mapping[str, str]) -> list[str]:
    def mine(edge: ColumnEdge) -> Edge:
        source, sink = known[edge.input.qualified_name], known[edge.output.qualified_name]
        return ((source, edge.input.column), (sink, edge.output.column or None), str(edge.kind), edge.masked)

    kinds: list[tuple[str, frozenset[Any], frozenset[Any]]] = [
        ("input", expected.inputs, frozenset(known[asset.qualified_name] for asset in process.inputs)),
        ("operation", expected.operations, frozenset(process.operations)),
        ("edge", expected.edges, frozenset(map(mine, process.columns))),
    ]
    return [
        f"{expected.output}: {kind} {word}: {each}"
        for kind, should, is_ in kinds
        for word, gap in (("missing", should - is_), ("too many", is_ - should))
        for each in sorted(gap, key=str)
    ]


def _called(asset: Asset, names: Iterable[str]) -> str:
    """The truth's name of an asset: the longest that its own name ends with; its own name if there is none."""
    path = asset.name.rstrip("/")
    fitting = [name for name in names if path == name or path.endswith(f"/{name}")]
    return max(fitting, key=len, default=path)


def _edge(value: Mapping[str, Any]) -> Edge:
    source, sink = value["input"], value["output"]
    return ((source[0], source[1]), (sink[0], sink[1]), value["kind"], value["masked"])
