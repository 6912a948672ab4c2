"""Lineage as nested steps: each process with the data sets on its far side, and what lies beyond those."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from shared.query.processes import Dataset
from shared.query.traversal import Columns, Lineage, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One process, and the data sets on its far side."""

    qualified_name: str
    type: str
    name: str
    description: str
    ends: tuple["End", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """A data set one process away, the column pairs on the way to it, and the processes beyond it."""

    dataset: Dataset
    columns: Columns
    beyond: tuple[Branch, ...]


def tree(found: Lineage, direction: Literal["upstream", "downstream"]) -> tuple[Branch, ...]:
    """The steps of one direction, nested from the data set that was asked for. A cycle is followed once."""
    steps = [step for step in found.steps if step.direction == direction]
    deepest = max((step.depth for step in steps), default=0)
    return _branches(steps, found.dataset, deepest, frozenset())


def _branches(steps: Sequence[Step], near: Dataset, depth: int, before: frozenset[Dataset]) -> tuple[Branch, ...]:
    if depth == 0 or near in before:
        return ()
    processes: dict[str, list[Step]] = {}
    for step in steps:
        if near == (step.output if step.direction == "upstream" else step.input):
            processes.setdefault(step.process, []).append(step)
    return tuple(
        Branch(
            qualified_name=own[0].process,
            type=own[0].type,
            name=own[0].name,
            description=own[0].description,
            ends=tuple(_end(steps, step, depth - 1, before | {near}) for step in sorted(own, key=_far)),
        )
        for _, own in sorted(processes.items())
    )


def _far(step: Step) -> Dataset:
    return step.input if step.direction == "upstream" else step.output


def _end(steps: Sequence[Step], step: Step, depth: int, before: frozenset[Dataset]) -> End:
    far = _far(step)
    return End(dataset=far, columns=tuple(sorted(step.columns)), beyond=_branches(steps, far, depth, before))
