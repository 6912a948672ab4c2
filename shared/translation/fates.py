"""What an application did to data sets as wholes, and what that means for what it wrote before. Pure.

A staging table that the same application writes, reads and drops is a step of the job, not a data set of anybody else:
what went through it goes straight on. A table that is written under one name and renamed has been written under the
other. Times decide: what is dropped first and made anew is no staging table, and what is filled, emptied and filled
again hands on only what was in it.

Of each data set only the latest drop, renaming and emptying are known: in a job that goes round and round in one
application the last round counts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from shared.model import Asset, Column, ColumnEdge, Contribution, EdgeKind, Process
from shared.naming import Identity
from shared.translation.columns import ALL_ROWS, union_edges

DROP, RENAME, TRUNCATE = "DROP", "RENAME", "TRUNCATE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What became of the data set with `qualified_name`, latest `at`: DROP, RENAME or TRUNCATE.

    A RENAME tells the asset that it is now, and the two places that stand in the names of processes.
    """

    state: str
    qualified_name: str
    at: datetime
    asset: Asset | None = None
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fates:
    """All that became of an application's data sets, by what it is and by the qualified name of the data set."""

    dropped: Mapping[str, datetime] = field(default_factory=dict)
    emptied: Mapping[str, datetime] = field(default_factory=dict)
    renamed: Mapping[str, Fate] = field(default_factory=dict)

    @classmethod
    def of(cls, fates: Iterable[Fate]) -> "Fates":
        """Of each data set and kind the latest."""
        latest: dict[str, dict[str, Fate]] = {DROP: {}, RENAME: {}, TRUNCATE: {}}
        for fate in sorted(fates, key=lambda each: (each.at, each.after)):
            latest[fate.state][fate.qualified_name] = fate
        return cls(
            dropped={name: fate.at for name, fate in latest[DROP].items()},
            emptied={name: fate.at for name, fate in latest[TRUNCATE].items()},
            renamed=latest[RENAME],
        )

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.dropped or self.emptied or self.renamed)

    def now(self, asset: Asset, at: datetime) -> tuple[Asset | None, tuple[Fate, ...]]:
        """What the data set that was this asset then is now (None: it was dropped), and by which renamings."""
        steps: list[Fate] = []
        passed: set[str] = set()
        while asset.qualified_name not in passed:
            passed.add(asset.qualified_name)
            move, end = self.renamed.get(asset.qualified_name), self.dropped.get(asset.qualified_name)
            if end and end >= at and not (move and at <= move.at <= end):
                return None, ()
            if move is None or move.asset is None or move.at < at:
                break
            steps.append(move)
            asset, at = move.asset, move.at
        return asset, tuple(steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lasting:
    """A contribution, and what remains of it: None when all that it wrote was dropped again."""

    said: Contribution
    remains: Contribution | None


def lasting(contributions: Sequence[Contribution], fates: Fates) -> tuple[Lasting, ...]:
    """What one application run says when its data sets are what they have become.

    `contributions` are all that it said, at least of all that has a fate. Contributions to temporary data sets go, those
    that read them read their sources; what was renamed is called by its new name on both sides.
    """
    if not fates:
        return tuple(Lasting(said=each, remains=each) for each in contributions)
    makers: dict[str, list[Contribution]] = {}
    kept: list[tuple[Contribution, Contribution]] = []
    gone: list[Contribution] = []
    for each in contributions:
        named = _renamed(each, fates)
        if named is None:
            gone.append(each)
            for sink in each.content.outputs:
                makers.setdefault(sink.qualified_name, []).append(each)
        else:
            kept.append((each, named))
    flow = _Flow(makers=makers, fates=fates)
    found = [
        Lasting(said=each, remains=replace(named, content=flow.straight(named.content, each, frozenset())))
        for each, named in kept
    ]
    return (*found, *(Lasting(said=each, remains=None) for each in gone))


def _renamed(said: Contribution, fates: Fates) -> Contribution | None:
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
        ),
    )


def place_of(identity: Identity) -> str:
    """A sink's place, as it stands at the end of a process's qualified name."""
    return f"{identity.namespace}/{identity.name.lstrip('/')}"


def present_name(qualified_name: str, fate: Fate) -> str:
    """A process's qualified name once its sink was renamed; one that was cut stays as it is."""
    if not qualified_name.endswith(f"/{fate.before}"):
        return qualified_name
    return f"{qualified_name[: -len(fate.before)]}{fate.after}"


def _moved_process(content: Process, fate: Fate) -> Process:
    """The process as that of the same job with the sink's present place."""
    after = present_name(content.qualified_name, fate)
    if after == content.qualified_name:
        return content
    job = content.name.rpartition(ARROW)[0]
    return replace(content, qualified_name=after, name=f"{job}{ARROW}{fate.after.rpartition('/')[2]}")


ARROW = " → "
"""Between the job and the sink in a process's display name."""


def _with_output(edge: ColumnEdge, name: str | None) -> ColumnEdge:
    if name is None:
        return edge
    return replace(edge, output=Column(qualified_name=name, column=edge.output.column))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flow:
    """How data went through temporary data sets: `makers` are what was said of the making of each."""

    makers: Mapping[str, Sequence[Contribution]]
    fates: Fates

    def straight(self, content: Process, reader: Contribution, passed: frozenset[str]) -> Process:
        """The content with each temporary input replaced by what it was made of when it was read, and each renamed
        one by what it is now; `passed` breaks circles.
        """
        made: dict[str, list[Process]] = {}
        moved: dict[str, Asset] = {}
        for asset in content.inputs:
            name = asset.qualified_name
            if name in self.makers and self.fates.now(asset, reader.seen.last)[0] is None:
                steps = [] if name in passed else self._made(name, reader)
                made[name] = [self.straight(each.content, each, passed | {name}) for each in steps]
            elif (now := self.fates.now(asset, reader.seen.last)[0]) and now != asset:
                moved[name] = now
        if not made and not moved:
            return content
        inputs: dict[tuple[str, str], Asset] = {}
        own = [moved.get(each.qualified_name, each) for each in content.inputs if each.qualified_name not in made]
        for asset in (*own, *(asset for steps in made.values() for step in steps for asset in step.inputs)):
            inputs.setdefault((asset.qualified_name, asset.type), asset)
        columns = union_edges(_edges(content, made, moved))
        lost = _reached(content.columns) - _reached(columns)
        return replace(
            content,
            inputs=tuple(sorted(inputs.values())),
            columns=columns,
            sourceless=tuple(sorted({*content.sourceless, *lost})),
        )

    def _made(self, name: str, reader: Contribution) -> list[Contribution]:
        """The makers of a temporary data set whose rows this reader found in it."""
        until = reader.seen.last
        before = [each for each in self.makers[name] if each is not reader and each.seen.first <= until]
        over = [each for each in before if each.seen.last <= until]
        ends = [at for known in (self.fates.dropped, self.fates.emptied) if (at := known.get(name))]
        there = [each for each in over if not any(each.seen.last <= end < until for end in ends)]
        return there or over or before or [each for each in self.makers[name] if each is not reader]


def _reached(edges: Iterable[ColumnEdge]) -> set[Column]:
    return {edge.output for edge in edges if edge.kind == EdgeKind.DIRECT}


def _edges(content: Process, made: Mapping[str, Sequence[Process]], moved: Mapping[str, Asset]) -> Iterator[ColumnEdge]:
    """The content's edges, those out of a temporary data set led on to where its columns came from."""
    before: dict[Column, list[ColumnEdge]] = {}
    for steps in made.values():
        for step in steps:
            for edge in step.columns:
                before.setdefault(edge.output, []).append(edge)
    for edge in content.columns:
        name = edge.input.qualified_name
        if name in made:
            for earlier in before.get(edge.input, ()):
                yield _joined(earlier, edge)
        elif name in moved:
            yield replace(edge, input=Column(qualified_name=moved[name].qualified_name, column=edge.input.column))
        else:
            yield edge
    for name in sorted(made):
        for earlier in before.get(Column(qualified_name=name, column=ALL_ROWS), ()):
            for sink in content.outputs:
                all_rows = Column(qualified_name=sink.qualified_name, column=ALL_ROWS)
                yield replace(earlier, output=all_rows, kind=EdgeKind.INDIRECT)


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
