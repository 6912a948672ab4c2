"""Following lineage: from a data set, or one of its columns, as many data sets away as is asked."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from typing import Any, Literal

from shared.query.processes import Dataset, Link, Source, UnknownError
from shared.texts.suggestion import suggestion
from shared.translation.process.union import ALL_ROWS

Direction = Literal["upstream", "downstream", "both"]
Columns = tuple[tuple[str, str], ...]
"""Pairs of an input and an output column. An empty output: a condition, on which all rows depend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One process, `depth` data sets away, between one of its inputs and one of its outputs. Where a column is
    followed, `columns` are the pairs on its way; else all between these two.
    """

    direction: Literal["upstream", "downstream"]
    depth: int
    process: str
    type: str
    name: str
    description: str
    input: Dataset
    output: Dataset
    columns: Columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """What was found of a data set (or of a column of it): steps, the nearest first."""

    dataset: Dataset
    column: str | None
    steps: tuple[Step, ...]

    @property
    def datasets(self) -> tuple[Dataset, ...]:
        """The data sets that were reached, the nearest first."""
        ends = (step.input if step.direction == "upstream" else step.output for step in self.steps)
        return tuple(dict.fromkeys(each for each in ends if each != self.dataset))

    @property
    def columns(self) -> tuple[tuple[Dataset, str], ...]:
        """The columns that were reached, the nearest first; of a data set all that it is mapped to."""
        found = (
            (step.input, pair[0]) if step.direction == "upstream" else (step.output, pair[1])
            for step in self.steps
            for pair in step.columns
        )
        return tuple(dict.fromkeys(found))

    def document(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return asdict(self)


def lineage(
    source: Source, asset: str, *, direction: Direction = "both", depth: int = 3, column: str | None = None
) -> Lineage:
    """What `asset` (a name, the end of a path, or a whole qualified name) is made of (`upstream`), and what is made of
    it (`downstream`), so many data sets away; with `column` only where that column's values come from or go to.

    Raises UnknownError and AmbiguousError (both LookupError), ValueError for a direction or depth that there is not,
    and as the source does: CatalogUnavailable, CatalogRefused, or StorageUnavailable.
    """
    ways = {"upstream": ("upstream",), "downstream": ("downstream",), "both": ("upstream", "downstream")}
    if direction not in ways:
        raise ValueError(f"the direction is one of {', '.join(ways)}, not {direction!r}")
    if depth < 1:
        raise ValueError(f"the depth is 1 or more, not {depth}")
    start = source.find(asset)
    steps = [step for way in ways[direction] for step in _followed(source, start, way, depth, column)]
    if column is not None and not steps and column not in (known := _columns(source, start)):
        raise UnknownError(f"{start.qualified_name} has no column {column!r} with lineage.{suggestion(column, known)}")
    return Lineage(dataset=start, column=column, steps=tuple(sorted(steps, key=lambda step: step.depth)))


def _columns(source: Source, start: Dataset) -> set[str]:
    """The columns of a data set that have lineage."""
    links = [link for way in ("upstream", "downstream") for link in source.around(start, way, 1)]
    ends = (end for link in links for pair in link.columns for end in pair)
    return {column for name, column in ends if name == start.qualified_name}


def _followed(source: Source, start: Dataset, way: str, depth: int, column: str | None) -> Iterator[Step]:
    """The steps of one direction, each process between two data sets once; circles are gone round once."""
    links = source.around(start, way, depth)
    frontier: set[tuple[str, str | None]] = {(start.qualified_name, column)}
    seen = set(frontier)
    done: set[tuple[str, Dataset, Dataset, Columns]] = set()
    for away in range(1, depth + 1):
        reached: set[tuple[str, str | None]] = set()
        for step in _one_away(links, frontier, way, away):
            mark = (step.process, step.input, step.output, step.columns)
            if mark in done:
                continue
            done.add(mark)
            far = step.input if way == "upstream" else step.output
            names = {pair[0 if way == "upstream" else 1] for pair in step.columns} if column else {None}
            reached |= {(far.qualified_name, name) for name in names}
            yield step
        frontier = reached - seen
        seen |= reached


def _one_away(links: Sequence[Link], frontier: set[tuple[str, str | None]], way: str, away: int) -> Iterator[Step]:
    up = way == "upstream"
    near_names = {name for name, _ in frontier}
    for link in links:
        for near in link.outputs if up else link.inputs:
            if near.qualified_name not in near_names:
                continue
            wanted = {name for qualified_name, name in frontier if qualified_name == near.qualified_name}
            for far in link.inputs if up else link.outputs:
                read, written = (far, near) if up else (near, far)
                pairs = tuple(
                    (source[1], sink[1])
                    for source, sink in link.columns
                    if source[0] == read.qualified_name
                    and sink[0] == written.qualified_name
                    and (None in wanted or _concerns(wanted, source[1], sink[1], upstream=up))
                )
                if pairs or None in wanted:
                    yield Step(
                        direction="upstream" if up else "downstream",
                        depth=away,
                        process=link.qualified_name,
                        type=link.type,
                        name=link.name,
                        description=link.description,
                        input=read,
                        output=written,
                        columns=pairs,
                    )


def _concerns(wanted: AbstractSet[str | None], source: str, sink: str, *, upstream: bool) -> bool:
    """Whether a pair is on the way of one of these columns. A condition decides about every column of its output."""
    if upstream:
        return sink in wanted or sink == ALL_ROWS
    return source in wanted or ALL_ROWS in wanted
