"""Eliminate staging data sets from an application's contributions.

A staging table that one application writes, reads and drops is an internal step: its readers get its sources as inputs.
A table that is written and then renamed counts under its new name. Times decide: a table that is dropped first and then
created again is no staging table, and a table that is filled, truncated and filled again passes on only what it held.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from shared.model import OPAQUE, Asset, Column, ColumnEdge, Contribution, EdgeKind, Process
from shared.translation.process.identity import ARROW, display_name
from shared.translation.process.union import ALL_ROWS, assets, of_those, one_each, renamed, sources, union_edges
from shared.translation.run.application import LifecycleEvent, LifecycleEvents, Tables, present_name
from shared.translation.run.sql_recovery import parsed_edge


class StagingResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A contribution, and what `remains` of it: None if all its outputs were dropped."""

    contribution: Contribution
    remains: Contribution | None


def eliminate_staging(contributions: Sequence[Contribution], lifecycle: LifecycleEvents) -> tuple[StagingResult, ...]:
    """Apply an application run's lifecycle events to its contributions.

    `contributions`: all of the run, or at least all that concern data sets with lifecycle events. Contributions to
    dropped data sets are removed, their readers get the sources; renamed data sets get their new names on both sides.
    """
    if not lifecycle and not any(contribution.content.unresolved_tables for contribution in contributions):
        return tuple([StagingResult(contribution=contribution, remains=contribution) for contribution in contributions])
    tables = Tables.of(
        asset
        for contribution in contributions
        for asset in (*contribution.content.inputs, *contribution.content.outputs)
        if asset.tables
    )
    lifecycle = lifecycle.located(tables)
    with_tables = [_with_resolved_tables(contribution, tables) for contribution in contributions]
    present_contributions = [_with_present_sinks(contribution, lifecycle) for contribution in with_tables]
    flow = _Flow.of(
        (
            contribution
            for contribution, remains in zip(with_tables, present_contributions, strict=True)
            if remains is None
        ),
        lifecycle,
    )
    return tuple(
        StagingResult(
            contribution=contribution,
            remains=remains and replace(remains, content=flow.resolve(remains.content, remains)),
        )
        for contribution, remains in zip(contributions, present_contributions, strict=True)
    )


def _with_resolved_tables(contribution: Contribution, tables: Tables) -> Contribution:
    """The contribution with the unresolved tables of its SQL that the application knows."""
    content = contribution.content
    if not content.unresolved_tables:
        return contribution
    resolved_assets = [
        (unresolved_table, asset)
        for unresolved_table in content.unresolved_tables
        if (asset := tables.find(unresolved_table.table))
    ]
    own_qualified_names = {asset.qualified_name for asset in (*content.inputs, *content.outputs)}
    added = {
        asset.qualified_name: asset for _, asset in resolved_assets if asset.qualified_name not in own_qualified_names
    }
    edges = [
        parsed_edge(asset, column, target, output, kind, opaque=(column, output, kind) in unresolved_table.opaque)
        for unresolved_table, asset in resolved_assets
        for target in content.outputs
        for column, output, kind in unresolved_table.columns
    ]
    content = replace(
        content,
        inputs=tuple(sorted((*content.inputs, *added.values()))),
        columns=union_edges((*content.columns, *edges)) if edges else content.columns,
        sourceless=tuple(column for column in content.sourceless if column not in _reached(edges)),
        parsed=tuple(sorted({*content.parsed, *added})),
        unresolved_tables=tuple(
            unresolved_table
            for unresolved_table in content.unresolved_tables
            if not tables.find(unresolved_table.table)
        ),
    )
    return replace(contribution, content=content)


def _with_present_sinks(contribution: Contribution, lifecycle: LifecycleEvents) -> Contribution | None:
    """The contribution with its sinks under their present names; None if all were dropped."""
    content = contribution.content
    outputs: set[Asset] = set()
    names: dict[str, str] = {}
    for sink in content.outputs:
        asset, renames = lifecycle.now(sink, contribution.seen.last)
        if asset:
            outputs.add(asset)
            names[sink.qualified_name] = asset.qualified_name
            for event in renames:
                content = _renamed_process(content, event)
    if content.outputs and not outputs:
        return None
    if all(former_name == present_name_of_asset for former_name, present_name_of_asset in names.items()):
        return contribution
    content = replace(
        content,
        outputs=tuple(sorted(outputs)),
        columns=union_edges(replace(edge, output=_present(edge.output, names)) for edge in content.columns),
        sourceless=tuple(sorted(_present(column, names) for column in content.sourceless)),
        schemas=renamed(content.schemas, names),
    )
    return replace(contribution, content=content)


def _present(column: Column, names: Mapping[str, str]) -> Column:
    """The column under the present name of its asset (old to new qualified name)."""
    return replace(column, qualified_name=names.get(column.qualified_name, column.qualified_name))


def _renamed_process(content: Process, event: LifecycleEvent) -> Process:
    """The process of the same job under the sink's new name."""
    name_after = present_name(content.qualified_name, event)
    if name_after == content.qualified_name:
        return content
    name = display_name(content.name.rpartition(ARROW)[0], event.after)
    return replace(content, qualified_name=name_after, name=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flow:
    """Data flow through staging data sets.

    `dropped`: the contributions to them. `makers`: by data set, the indexes of the contributions that wrote it.
    `resolved`: for each of `dropped` its content with no staging data set in between.
    """

    lifecycle: LifecycleEvents
    dropped: Sequence[Contribution]
    makers: Mapping[str, Sequence[int]]
    resolved: list[Process]

    @classmethod
    def of(cls, dropped_contributions: Iterable[Contribution], lifecycle: LifecycleEvents) -> "_Flow":
        """From all contributions to staging data sets. These may read each other, also in circles, so they are resolved
        repeatedly until nothing changes.
        """
        dropped = sorted(
            dropped_contributions,
            key=lambda dropped_contribution: (
                dropped_contribution.seen.last,
                dropped_contribution.seen.first,
                repr(dropped_contribution.content),
            ),
        )
        makers: dict[str, list[int]] = {}
        for number, contribution_dropped in enumerate(dropped):
            for sink in contribution_dropped.content.outputs:
                makers.setdefault(sink.qualified_name, []).append(number)
        unresolved = [replace(contribution.content, inputs=(), columns=(), batch_inputs=()) for contribution in dropped]
        flow = cls(lifecycle=lifecycle, dropped=dropped, makers=makers, resolved=unresolved)
        reads = [frozenset(flow._read_by(number)) for number in range(len(dropped))]
        todo = list(range(len(dropped)))
        while todo:
            changed = {number for number in todo if flow._changes(number)}
            todo = [number for number, names_read in enumerate(reads) if not changed.isdisjoint(names_read)]
        return flow

    def _changes(self, number: int) -> bool:
        """Resolve one contribution again: whether its content changed."""
        resolved = self.resolve(self.dropped[number].content, self.dropped[number])
        changed = resolved != self.resolved[number]
        self.resolved[number] = resolved
        return changed

    def _read_by(self, number: int) -> Iterator[int]:
        return (
            step
            for asset in sources(self.dropped[number].content)
            if asset.qualified_name in self.makers
            for step in self._made(asset.qualified_name, self.dropped[number])
        )

    def resolve(self, content: Process, reader: Contribution) -> Process:
        """The content with each staging input replaced by the sources it had when it was read, and each renamed input
        under its present name; the same for inputs of enclosing batches.
        """
        steps_by_input: dict[str, list[Process]] = {}
        moved: dict[str, Asset] = {}
        for asset in (*content.inputs, *content.batch_inputs):
            name = asset.qualified_name
            now = self.lifecycle.now(asset, reader.seen.last)[0]
            if now is None and name in self.makers:
                steps_by_input[name] = [self.resolved[step] for step in self._made(name, reader)]
            elif now and now != asset:
                moved[name] = now
        if not steps_by_input and not moved:
            return content
        inputs = assets(_through(content.inputs, steps_by_input, moved))
        own_assets = (
            asset for asset in content.inputs if asset.qualified_name not in {*content.parsed, *steps_by_input}
        )
        reported = {
            asset.qualified_name for asset in (*_through(own_assets, steps_by_input, moved), *_reported(steps_by_input))
        }
        names = {name: asset.qualified_name for name, asset in moved.items()}
        columns = union_edges(_edges(content, steps_by_input, names))
        lost_columns = _reached(content.columns) - _reached(columns)
        through = (schema for steps in steps_by_input.values() for step in steps for schema in step.schemas)
        content = replace(content, inputs=inputs, columns=columns)
        return replace(
            content,
            schemas=of_those(one_each((*renamed(content.schemas, names), *through)), content),
            sourceless=tuple(sorted({*content.sourceless, *lost_columns})),
            parsed=tuple(asset.qualified_name for asset in inputs if asset.qualified_name not in reported),
            batch_inputs=assets(_through(content.batch_inputs, steps_by_input, moved)),
            exact=content.exact and all(step.exact for steps in steps_by_input.values() for step in steps),
        )

    def _made(self, name: str, reader: Contribution) -> list[int]:
        """The contributions whose rows the reader found in a staging data set."""
        other_steps = [step for step in self.makers[name] if self.dropped[step] is not reader]
        until = reader.seen.last
        earlier_steps = [step for step in other_steps if self.dropped[step].seen.first <= until]
        finished_steps = [step for step in earlier_steps if self.dropped[step].seen.last <= until]
        ends = [
            moment
            for known_moments in (self.lifecycle.dropped, self.lifecycle.emptied)
            if (moment := known_moments.get(name))
        ]
        lasting_steps = [
            step for step in finished_steps if not any(self.dropped[step].seen.last <= end < until for end in ends)
        ]
        return lasting_steps or finished_steps or earlier_steps or other_steps


def _through(
    named: Iterable[Asset], steps_by_input: Mapping[str, Sequence[Process]], moved: Mapping[str, Asset]
) -> Iterator[Asset]:
    """The assets with staging ones replaced by their sources, and renamed ones by their present asset."""
    for named_asset in named:
        if named_asset.qualified_name in steps_by_input:
            yield from (asset for step in steps_by_input[named_asset.qualified_name] for asset in sources(step))
        else:
            yield moved.get(named_asset.qualified_name, named_asset)


def _reported(steps_by_input: Mapping[str, Sequence[Process]]) -> Iterator[Asset]:
    """The sources of staging data sets that events reported, not only SQL."""
    for step in (step for steps in steps_by_input.values() for step in steps):
        yield from (source for source in sources(step) if source.qualified_name not in step.parsed)


def _reached(edges: Iterable[ColumnEdge]) -> set[Column]:
    return {edge.output for edge in edges if edge.kind == EdgeKind.DIRECT}


def _edges(
    content: Process, steps_by_input: Mapping[str, Sequence[Process]], names: Mapping[str, str]
) -> Iterator[ColumnEdge]:
    """The content's edges, those from a staging data set extended to its sources."""
    earlier_edges: dict[Column, list[ColumnEdge]] = {}
    for edge in (edge for steps in steps_by_input.values() for step in steps for edge in step.columns):
        earlier_edges.setdefault(edge.output, []).append(edge)
    for edge in content.columns:
        if edge.input.qualified_name in steps_by_input:
            yield from (_joined(earlier, edge) for earlier in earlier_edges.get(edge.input, ()))
        else:
            yield replace(edge, input=_present(edge.input, names))
    every_row = [Column(qualified_name=sink.qualified_name, column=ALL_ROWS) for sink in content.outputs]
    for name in sorted(steps_by_input):
        for earlier in earlier_edges.get(Column(qualified_name=name, column=ALL_ROWS), ()):
            yield from (replace(earlier, output=output, kind=EdgeKind.INDIRECT) for output in every_row)


def _joined(earlier: ColumnEdge, later_edge: ColumnEdge) -> ColumnEdge:
    """Two consecutive edges as one: direct if both are; a copy of a copy is a copy, and what is opaque stays so. A mask
    that an opaque edge follows counts no longer: code may undo it.
    """
    direct = earlier.kind == later_edge.kind == EdgeKind.DIRECT
    ways = {*earlier.how, *later_edge.how}
    return ColumnEdge(
        input=earlier.input,
        output=later_edge.output,
        kind=EdgeKind.DIRECT if direct else EdgeKind.INDIRECT,
        masked=later_edge.masked or (earlier.masked and OPAQUE not in later_edge.how),
        how=tuple(sorted(ways - {"IDENTITY"} or ways)),
        parsed=earlier.parsed or later_edge.parsed,
        expressions=later_edge.expressions or earlier.expressions,
    )
