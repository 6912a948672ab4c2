"""The truth of a job as one capture of its events shows it: the gaps that a truth file lists are applied.

Every gap is listed with its reason. A gap with `only` applies to the captures that match one of its patterns
(`spark35-ol1.12`, `spark4*`), one without to all:

- `not_reported`: true, but in no event. Without `only` it is not among `processes`. With `only` it is, and is removed
  for these captures: an `edge`; the `columns` of an `output` (their names, null for all rows, or "all"); its `inputs`
  with all edges from them; or, with neither, the whole process;
- `reported_wrongly`: in the events, but not true: an `edge` (with `instead_of`, if it replaces a true one), the
  `inputs` or `operations` of an `output`, or a whole process, as in `processes`;
- `not_run`: the captures that do not have the scenario.

A `ListenerVersion` says once what a version of the listener omits in every job.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Self

from shared.model import OPAQUE, EdgeKind
from throughline.local.spark import truth
from throughline.local.spark.truth import Edge, Expected, edge_of, expected_process

ALL = "all"
_WHOLE_PROCESS = frozenset({"operations", "inputs", "columns"})


class TruthError(Exception):
    """A truth file that contradicts itself; the message says which entry of which file, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerVersion:
    """What a version of the listener reports: whether INDIRECT edges, whether masks, and whether OPAQUE edges as such,
    not as DIRECT ones.
    """

    indirect: bool
    masks: bool
    opaque: bool = False

    @classmethod
    def read(cls, path: Path, *, capture: str) -> Self:
        """Return the version of a capture from a file such as tests/golden/listeners.json: the first matching pattern.

        Raises TruthError when none matches.
        """
        for pattern, facts in json.loads(path.read_text()).items():
            if fnmatchcase(capture, pattern):
                return cls(
                    indirect=facts["indirect"] != "none", masks=facts["masks"], opaque=facts.get("opaque", False)
                )
        raise TruthError(f"{path} does not say what is reported in {capture}: add a pattern for it")

    def reports(self, edges: frozenset[Edge]) -> frozenset[Edge]:
        """Return these edges as this version reports them."""
        return frozenset(
            (source, sink, kind if self.opaque or kind != OPAQUE else str(EdgeKind.DIRECT), masked and self.masks)
            for source, sink, kind, masked in edges
            if self.indirect or kind != EdgeKind.INDIRECT
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth(truth.Truth):
    """The expected lineage of a job, with the known gaps of one capture applied."""

    @classmethod
    def read(cls, *paths: Path, capture: str) -> "Truth":
        """Read truth files together, as a capture such as `spark35-ol1.53` reports them.

        Raises TruthError when an entry removes or replaces something that the file does not contain.
        """
        return cls(processes=tuple(process for path in paths for process in _reported(path, capture)))

    @classmethod
    def whole(cls, path: Path) -> "Truth":
        """Read the whole truth of a file, including the parts that no capture reports. Raises TruthError."""
        found: dict[str, Any] = json.loads(path.read_text())
        processes = {process["output"]: expected_process(process) for process in found["processes"]}
        for gap in found["not_reported"]:
            if "only" not in gap:
                _add(processes, gap)
        return cls(processes=tuple(processes.values()))

    def as_reported_by(self, listener: ListenerVersion) -> "Truth":
        """Return the part of the truth that this version of the listener reports."""
        return Truth(
            processes=tuple(replace(process, edges=listener.reports(process.edges)) for process in self.processes)
        )


def holds(entry: Mapping[str, Any], capture: str) -> bool:
    """Whether an entry of `not_reported`, `reported_wrongly` or `not_run` applies to this capture."""
    return "only" not in entry or any(fnmatchcase(capture, pattern) for pattern in entry["only"])


def not_run(path: Path, capture: str) -> str | None:
    """Return the reason why a truth file's scenario is not in this capture; None when it is."""
    entries = json.loads(path.read_text()).get("not_run", ())
    return next((entry["reason"] for entry in entries if holds(entry, capture)), None)


def _reported(path: Path, capture: str) -> tuple[Expected, ...]:
    document: dict[str, Any] = json.loads(path.read_text())
    reported = {process["output"]: expected_process(process) for process in document["processes"]}
    try:
        for gap in document["not_reported"]:
            if "only" in gap and holds(gap, capture):
                _take_away(reported, gap)
        for gap in document["reported_wrongly"]:
            if holds(gap, capture):
                _put_in(reported, gap)
    except TruthError as error:
        raise TruthError(f"{path}, for {capture}: {error}") from error
    return tuple(reported.values())


def _add(processes: dict[str, Expected], gap: Mapping[str, Any]) -> None:
    """Add the true facts of a gap without `only`."""
    output = _output(gap)
    process = processes.get(output)
    edges = frozenset({edge_of(gap["edge"])} if "edge" in gap else ())
    inputs = frozenset({gap["edge"]["input"][0]} if "edge" in gap else gap.get("inputs", ()))
    if process is None:
        processes[output] = Expected(output=output, operations=frozenset(), inputs=inputs, edges=edges)
    else:
        processes[output] = replace(process, inputs=process.inputs | inputs, edges=process.edges | edges)


def _take_away(reported: dict[str, Expected], gap: Mapping[str, Any]) -> None:
    """Remove the facts of a gap with `only`. Raises TruthError when they are not true."""
    output = _output(gap)
    process = reported.get(output)
    if process is None:
        raise TruthError(
            f"not_reported takes something from {output}, which is no process: correct or delete the entry"
        )
    inputs, edges = process.inputs, process.edges
    if "edge" in gap:
        edges -= {edge_of(gap["edge"])}
    elif "columns" in gap:
        edges = frozenset(edge for edge in edges if gap["columns"] != ALL and edge[1][1] not in gap["columns"])
    else:
        inputs -= frozenset(gap.get("inputs", inputs))
        edges = frozenset(edge for edge in edges if edge[0][0] in inputs)
    if (inputs, edges) == (process.inputs, process.edges):
        raise TruthError(f"not_reported takes nothing from {output}: correct or delete the entry {dict(gap)}")
    if inputs:
        reported[output] = replace(process, inputs=inputs, edges=edges)
    else:
        del reported[output]


def _put_in(reported: dict[str, Expected], gap: Mapping[str, Any]) -> None:
    """Add the wrongly reported facts of a gap. Raises TruthError when it replaces an unknown fact."""
    output = _output(gap)
    if gap.keys() >= _WHOLE_PROCESS:
        reported[output] = expected_process(gap)
        return
    process = reported.get(output)
    if process is None:
        raise TruthError(
            f"reported_wrongly changes {output}, which is no process: give the whole process, or delete it"
        )
    if "edge" in gap:
        gone = frozenset({edge_of(gap["instead_of"])} if "instead_of" in gap else ())
        if not gone <= process.edges:
            raise TruthError(f"reported_wrongly replaces an edge of {output} that is not there: {gap['instead_of']}")
        reported[output] = replace(process, edges=process.edges - gone | {edge_of(gap["edge"])})
    elif "operations" in gap:
        reported[output] = replace(process, operations=frozenset(gap["operations"]))
    else:
        reported[output] = replace(process, inputs=process.inputs | frozenset(gap["inputs"]))


def _output(gap: Mapping[str, Any]) -> str:
    name: str = gap["edge"]["output"][0] if "edge" in gap else gap["output"]
    return name
