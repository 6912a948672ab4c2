"""Holding lineage to what a job's author wrote down: the processes, their inputs, and every column edge.

A truth file names data sets by the end of their location, and is written from the job's meaning, never from its
events. Every gap is named, with its reason:

- `not_told`: what is true beyond `processes`, but no event says it: an `edge`, or an `output` with its `inputs`;
- `told_wrongly`: what the events say though it is not true: an `edge` (with `instead_of`, when it stands in the place
  of a true one), the `inputs` of an `output`, or a whole process, as in `processes`.

What a version of the listener leaves out of every job is told once, by a `Listener`.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shared.model import Asset, ColumnEdge, EdgeKind, Process

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
class Listener:
    """How much a version of the listener tells: whether it has INDIRECT edges at all, and masks."""

    indirect: bool
    masks: bool

    @classmethod
    def read(cls, path: Path) -> "dict[str, Listener]":
        """By version, from a file such as tests/golden/listeners.json."""
        return {
            version: cls(indirect=facts["indirect"] != "none", masks=facts["masks"])
            for version, facts in json.loads(path.read_text()).items()
        }

    def tells(self, edges: frozenset[Edge]) -> frozenset[Edge]:
        """These edges as this version tells them."""
        return frozenset(
            (source, sink, kind, masked and self.masks)
            for source, sink, kind, masked in edges
            if self.indirect or kind != EdgeKind.INDIRECT
        )


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
        told = {process["output"]: _expected(process) for process in whole["processes"]}
        for gap in whole["told_wrongly"]:
            output = gap["edge"]["output"][0] if "edge" in gap else gap["output"]
            told[output] = _with_wrong(told.get(output), gap)
        return cls(processes=tuple(told.values()))

    def as_told_by(self, listener: Listener) -> "Truth":
        """What is left of the truth when this version of the listener tells it."""
        return Truth(processes=tuple(replace(each, edges=listener.tells(each.edges)) for each in self.processes))

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
    path = f"{asset.namespace}/{asset.name.strip('/')}"
    fitting = [name for name in names if path == name or path.endswith(f"/{name}")]
    return max(fitting, key=len, default=path)


def _expected(process: Mapping[str, Any]) -> Expected:
    return Expected(
        output=process["output"],
        operations=frozenset(process["operations"]),
        inputs=frozenset(process["inputs"]),
        edges=frozenset(map(_edge, process["columns"])),
    )


def _with_wrong(process: Expected | None, gap: Mapping[str, Any]) -> Expected:
    """The process with what is told wrongly of it."""
    if process is None:
        return _expected(gap)
    if "edge" not in gap:
        return replace(process, inputs=process.inputs | set(gap["inputs"]))
    gone = {_edge(gap["instead_of"])} if "instead_of" in gap else set()
    return replace(process, edges=process.edges - gone | {_edge(gap["edge"])})


def _edge(value: Mapping[str, Any]) -> Edge:
    source, sink = value["input"], value["output"]
    return ((source[0], source[1]), (sink[0], sink[1]), value["kind"], value["masked"])
