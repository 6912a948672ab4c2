"""What remains of what an application said, when its data sets are what they have become. Pure.

A staging table that the same application writes, reads and drops is a step of the job, not a data set of anybody else:
what went through it goes straight on. A table that is written under one name and renamed has been written under the
other. Times decide: what is dropped first and made anew is no staging table, and what is filled, emptied and filled
again hands on only what was in it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from shared.model import Asset, Column, ColumnEdge, Contribution, EdgeKind, Process
from shared.naming.rules.rule import bounded
from shared.translation.aggregate import assets, sources
from shared.translation.application.lifecycle import LifecycleEvent, LifecycleEvents, Tables, present_name
from shared.translation.job.identity import LONGEST
from shared.translation.run.columns import ALL_ROWS, union_edges
from shared.translation.run.schemas import of_those, one_each, renamed
from shared.translation.sql.recovery import parsed_edge


class StagingResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A contribution, and what remains of it: None when all that it wrote was dropped again."""

    said: Contribution
    remains: Contribution | None


def eliminate_staging(contributions: Sequence[Contribution], fates: LifecycleEvents) -> tuple[StagingResult, ...]:
    """What one application run says when its data sets are what they have become.

    `contributions` are all that it said, at least of all that has a fate. Contributions to temporary data sets go,
    those that read them read their sources; what was renamed is called by its new name on both sides.
    """
    if not fates and not any(each.content.wanted for each in contributions):
        return tuple([StagingResult(said=each, remains=each) for each in contributions])
    tables = Tables.of(
        asset for each in contributions for asset in (*each.content.inputs, *each.content.outputs) if asset.tables
    )
    fates = fates.located(tables)
    found: list[tuple[Contribution, Contribution | None]] = []
    gone: list[Contribution] = []
    for each in contributions:
        whole = _with_wanted(each, tables)
        remains = _renamed(whole, fates)
        found.append((each, remains))
        if remains is None:
            gone.append(whole)
    flow = _Flow.of(gone, fates)
    return tuple(
        StagingResult(said=said, remains=remains and replace(remains, content=flow.straight(remains.content, remains)))
        for said, remains in found
    )


def _with_wanted(said: Contribution, tables: Tables) -> Contribution:
    """The contribution with the tables that its statement names, where the application knows them."""
    content = said.content
    if not content.wanted:
        return said
    found = [(each, asset) for each in content.wanted if (asset := tables.find(each.table))]
    own = {asset.qualified_name for asset in (*content.inputs, *content.outputs)}
    added = {asset.qualified_name: asset for _, asset in found if asset.qualified_name not in own}
    edges = [
        parsed_edge(asset, column, target, output, kind)
        for each, asset in found
        for target in content.outputs
        for column, output, kind in each.columns
    ]
    return replace(
        said,
        content=replace(
            content,
            inputs=tuple(sorted((*content.inputs, *added.values()))),
            columns=union_edges((*content.columns, *edges)) if edges else content.columns,
            sourceless=tuple(each for each in content.sourceless if each not in _reached(edges)),
            parsed=tuple(sorted({*content.parsed, *added})),
            wanted=(),
        ),
    )


def _renamed(said: Contribution, fates: LifecycleEvents) -> Contribution | None:
    """The contribution with its sinks under their present names; None when they were dropped."""
    content = said.content
    outputs: list[Asset] = []
    moved: dict[str, str] = {}
    for sink in content.outputs:
        asset, steps = fates.now(sink, said.seen.last)
        if asset is None:
            continue
        outputs.append(asset)
        moved[sink.qualified_name] = asset.qualified_name
        for step in steps:
            content = _moved_process(content, step)
    if not outputs:
        return None
    if all(before == after for before, after in moved.items()):
        return said
    columns = (_with_output(edge, moved.get(edge.output.qualified_name)) for edge in content.columns)
    return replace(
        said,
        content=replace(
            content,
            outputs=tuple(sorted(set(outputs))),
            columns=union_edges(columns),
            sourceless=tuple(
                sorted(
                    Column(qualified_name=moved.get(each.qualified_name, each.qualified_name), column=each.column)
                    for each in content.sourceless
                )
            ),
            schemas=renamed(content.schemas, moved),
        ),
    )


def _moved_process(content: Process, fate: LifecycleEvent) -> Process:
    """The process as that of the same job with the sink's present place."""
    after = present_name(content.qualified_name, fate)
    if after == content.qualified_name:
        return content
    job = content.name.rpartition(ARROW)[0]
    return replace(content, qualified_name=after, name=bounded(f"{job}{ARROW}{fate.after.rpartition('/')[2]}", LONGEST))


ARROW = " → "
"""Between the job and the sink in a process's display name."""


def _with_output(edge: ColumnEdge, name: str | None) -> ColumnEdge:
    if name is None:
        return edge
    return replace(edge, output=Column(qualified_name=name, column=edge.output.column))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flow:
    """How data went through temporary data sets: `makers` are what was said of the making of each, and `meant` what
    that comes to, by its place among `said`, with no temporary data set in between.
    """

    fates: LifecycleEvents
    said: Sequence[Contribution]
    makers: Mapping[str, Sequence[int]]
    meant: list[Process]

    @classmethod
    def of(cls, gone: Iterable[Contribution], fates: LifecycleEvents) -> "_Flow":
        """From all contributions to temporary data sets. One may be made of others, also in circles: what they mean is
        found by going through them until nothing changes.
        """
        said = sorted(gone, key=lambda each: (each.seen.last, each.seen.first, repr(each.content)))
        makers: dict[str, list[int]] = {}
        for number, each in enumerate(said):
            for sink in each.content.outputs:
                makers.setdefault(sink.qualified_name, []).append(number)
        nothing = [replace(each.content, inputs=(), columns=(), around=()) for each in said]
        flow = cls(fates=fates, said=said, makers=makers, meant=nothing)
        reads = [frozenset(flow._read_by(number)) for number in range(len(said))]
        todo = list(range(len(said)))
        while todo:
            changed = {number for number in todo if flow._changes(number)}
            todo = [number for number, read in enumerate(reads) if not changed.isdisjoint(read)]
        return flow

    def _changes(self, number: int) -> bool:
        """Find anew what one of them means: whether that is something else now."""
        meant = self.straight(self.said[number].content, self.said[number])
        changed = meant != self.meant[number]
        self.meant[number] = meant
        return changed

    def _read_by(self, number: int) -> Iterator[int]:
        return (
            step
            for asset in sources(self.said[number].content)
            if asset.qualified_name in self.makers
            for step in self._made(asset.qualified_name, self.said[number])
        )

    def straight(self, content: Process, reader: Contribution) -> Process:
        """The content with each temporary input replaced by what it was made of when it was read, and each renamed
        one by what it is now: also what a batch around it read.
        """
        made: dict[str, list[Process]] = {}
        moved: dict[str, Asset] = {}
        for asset in (*content.inputs, *content.around):
            name = asset.qualified_name
            now = self.fates.now(asset, reader.seen.last)[0]
            if now is None and name in self.makers:
                made[name] = [self.meant[step] for step in self._made(name, reader)]
            elif now and now != asset:
                moved[name] = now
        if not made and not moved:
            return content
        inputs = assets(_through(content.inputs, made, moved))
        own = (each for each in content.inputs if each.qualified_name not in {*content.parsed, *made})
        told = {each.qualified_name for each in _through(own, made, moved)}
        told |= {each.qualified_name for each in _told(made)}
        columns = union_edges(_edges(content, made, moved))
        lost = _reached(content.columns) - _reached(columns)
        through = (each for steps in made.values() for step in steps for each in step.schemas)
        names = {name: asset.qualified_name for name, asset in moved.items()}
        own_now = replace(content, inputs=inputs)
        return replace(
            content,
            schemas=of_those(one_each((*renamed(content.schemas, names), *through)), own_now),
            inputs=inputs,
            columns=columns,
            sourceless=tuple(sorted({*content.sourceless, *lost})),
            parsed=tuple(each.qualified_name for each in inputs if each.qualified_name not in told),
            around=assets(_through(content.around, made, moved)),
        )

    def _made(self, name: str, reader: Contribution) -> list[int]:
        """The makers of a temporary data set whose rows this reader found in it."""
        others = [step for step in self.makers[name] if self.said[step] is not reader]
        until = reader.seen.last
        before = [step for step in others if self.said[step].seen.first <= until]
        over = [step for step in before if self.said[step].seen.last <= until]
        ends = [at for known in (self.fates.dropped, self.fates.emptied) if (at := known.get(name))]
        there = [step for step in over if not any(self.said[step].seen.last <= end < until for end in ends)]
        return there or over or before or others


def _through(
    named: Iterable[Asset], made: Mapping[str, Sequence[Process]], moved: Mapping[str, Asset]
) -> Iterator[Asset]:
    """What was read of these: what the temporary ones were made of, and others as they are now."""
    for each in named:
        if each.qualified_name in made:
            yield from (asset for step in made[each.qualified_name] for asset in sources(step))
        else:
            yield moved.get(each.qualified_name, each)


def _told(made: Mapping[str, Sequence[Process]]) -> Iterator[Asset]:
    """What events, not only statements, named as read in the making of temporary data sets."""
    for step in (step for steps in made.values() for step in steps):
        yield from (each for each in sources(step) if each.qualified_name not in step.parsed)


def _reached(edges: Iterable[ColumnEdge]) -> set[Column]:
    return {edge.output for edge in edges if edge.kind == EdgeKind.DIRECT}


def _edges(content: Process, made: Mapping[str, Sequence[Process]], moved: Mapping[str, Asset]) -> Iterator[ColumnEdge]:
    """The content's edges, those out of a temporary data set led on to where its columns came from."""
    before: dict[Column, list[ColumnEdge]] = {}
    for edge in (edge for steps in made.values() for step in steps for edge in step.columns):
        before.setdefault(edge.output, []).append(edge)
    for edge in content.columns:
        name = edge.input.qualified_name
        if name in made:
            yield from (_joined(earlier, edge) for earlier in before.get(edge.input, ()))
        elif name in moved:
            yield replace(edge, input=Column(qualified_name=moved[name].qualified_name, column=edge.input.column))
        else:
            yield edge
    for name in sorted(made):
        for earlier in before.get(Column(qualified_name=name, column=ALL_ROWS), ()):
            yield from (_for_all_rows(earlier, sink) for sink in content.outputs)


def _for_all_rows(earlier: ColumnEdge, sink: Asset) -> ColumnEdge:
    output = Column(qualified_name=sink.qualified_name, column=ALL_ROWS)
    return replace(earlier, output=output, kind=EdgeKind.INDIRECT)


def _joined(earlier: ColumnEdge, later: ColumnEdge) -> ColumnEdge:
    """Two edges, one after the other, as one: direct when both are; a copy of a copy is a copy."""
    direct = earlier.kind == later.kind == EdgeKind.DIRECT
    ways = {*earlier.how, *later.how}
    return ColumnEdge(
        input=earlier.input,
        output=later.output,
        kind=EdgeKind.DIRECT if direct else EdgeKind.INDIRECT,
        masked=earlier.masked or later.masked,
        how=tuple(sorted(ways - {"IDENTITY"} or ways)),
        parsed=earlier.parsed or later.parsed,
    )
