"""What a change of a table or a column breaks: who owns it, which classifications and policies it hits, and the way.

A data set is broken if it is known to depend on what is gone. It is not known if it may: along an opaque edge, through
a process whose columns are not known, or where the change alters a value that an expression takes.

Its reports are Markdown for a comment of a pull request, and text and SARIF as those of a check.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby

from shared.governance.checks.checking import Report, Result
from shared.governance.checks.findings import Finding, UpstreamLineage, UpstreamStep, Verdict
from shared.governance.propagation import TagPropagation, TagState
from shared.governance.rules import Rules, matching_columns, matching_datasets
from shared.lineage.document import Edge, Flow, Kind, LineageDocument
from shared.lineage.graph import LineageGraph
from shared.lineage.questions import Dependent, LineageIndex, dependents
from shared.texts import visible


class Change(StrEnum):
    """What becomes of a table or a column. `KEEP`: a new statement writes each column that the old one wrote;
    `REWRITE`: its columns can't be compared.
    """

    DROP = "drop"
    RENAME = "rename"
    RETYPE = "retype"
    KEEP = "keep"
    REWRITE = "rewrite"


_ALL_BUT_OPAQUE = frozenset(Kind) - {Kind.OPAQUE}
_CERTAIN: Mapping[Change, frozenset[Kind]] = {
    Change.DROP: _ALL_BUT_OPAQUE,
    Change.RENAME: _ALL_BUT_OPAQUE,
    Change.RETYPE: frozenset({Kind.IDENTITY}),
    Change.REWRITE: frozenset(),
}
"""The kinds of edges along which a change is sure to break what depends on it. An expression may take the new type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What changes: a column of a data set, by numbers, or all of it (None). `place`: the file that changes it."""

    dataset: int
    column: int | None
    change: Change
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Affected:
    """A data set that depends on what changes. `verdict`: BROKEN or UNKNOWN; `columns`: those that depend on it, empty
    where the whole data set does; `policies`: of the rules file, that are about it. `is_foreign`: only the catalog
    names it, such as a report of another program.
    """

    dataset: str
    name: str
    type: str
    columns: tuple[str, ...]
    owner: str
    verdict: Verdict
    classifications: tuple[str, ...]
    policies: tuple[str, ...]
    way: tuple[UpstreamStep, ...]
    is_foreign: bool = False

    @property
    def text(self) -> str:
        """One line of a message."""
        named = ", ".join(f"{self.name}.{column}" if column else f"{self.name} (all rows)" for column in self.columns)
        foreign_type = self.type if self.is_foreign else ""
        facts = (
            ("type", (foreign_type,)),
            ("owner", (self.owner,)),
            ("classified", self.classifications),
            ("policy", self.policies),
        )
        known_facts = "; ".join(f"{word} {', '.join(values)}" for word, values in facts if any(values))
        verb = "break" if self.verdict is Verdict.BROKEN else "may break"
        return f"{verb}: {named or self.name}{f' ({known_facts})' if known_facts else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakage:
    """What one change breaks, the nearest first. `subject`: its name as messages have it; `column`: empty for a whole
    table; `remark`: why nothing is known of it, where that is so.
    """

    subject: str
    change: Change
    place: str
    dataset: str = ""
    column: str = ""
    verdict: Verdict
    affected: tuple[Affected, ...] = ()
    remark: str = ""

    @property
    def result(self) -> Result:
        """The same as the result of a check."""
        findings = [
            Finding(verdict=dependent.verdict, text=dependent.text, way=dependent.way) for dependent in self.affected
        ]
        if self.remark:
            findings.append(Finding(verdict=Verdict.UNKNOWN, text=self.remark))
        return Result(
            policy=self.subject,
            demand=self.change,
            verdict=self.verdict,
            fails=self.verdict is not Verdict.HOLDS,
            findings=tuple(findings),
            found=len(findings),
            line=1,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySubject:
    """The data sets that a policy is about, by numbers; or the columns, where it names some (else None)."""

    name: str
    datasets: frozenset[int]
    columns: frozenset[int] | None

    def is_about(self, dataset: int, columns: Iterable[int]) -> bool:
        """Whether the policy is about a data set, or about one of these columns of it."""
        return dataset in self.datasets if self.columns is None else not self.columns.isdisjoint(columns)


def policy_subjects(document: LineageDocument, rules: Rules) -> tuple[PolicySubject, ...]:
    """What each policy of the rules is about."""
    return tuple(
        PolicySubject(
            name=policy.name,
            datasets=matching_datasets(document, policy.where.datasets),
            columns=matching_columns(document, policy.where) if policy.where.columns or policy.where.types else None,
        )
        for policy in rules.policies
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakageQuestion:
    """What changes are judged by: lineage, the rules' policies, and how their classifications spread."""

    index: LineageIndex
    lineage: UpstreamLineage
    policies: tuple["PolicySubject", ...] = ()
    tags: Mapping[str, TagPropagation] = field(default_factory=dict)

    def breakage(self, subject: Subject) -> Breakage:
        """What a change breaks."""
        document = self.index.document
        affected = () if subject.change is Change.KEEP else tuple(self._affected(subject))
        verdicts = {dependent.verdict for dependent in affected}
        return Breakage(
            subject=document.datasets[subject.dataset].name
            if subject.column is None
            else self.lineage.label(subject.column),
            change=subject.change,
            place=subject.place,
            dataset=document.datasets[subject.dataset].qualified_name,
            column="" if subject.column is None else document.columns[subject.column].name,
            verdict=next(
                (verdict for verdict in (Verdict.BROKEN, Verdict.UNKNOWN) if verdict in verdicts), Verdict.HOLDS
            ),
            affected=affected,
        )

    def _affected(self, subject: Subject) -> Iterator[Affected]:
        graph, certain_kinds = self.index.graph(conditions=True), _CERTAIN[subject.change]
        possible = dependents(graph, dataset=subject.dataset, column=subject.column)
        certain = possible if certain_kinds else ()
        if subject.column is not None:
            certain = dependents(graph, dataset=subject.dataset, column=subject.column, kinds=certain_kinds)
        broken = {dependent.dataset: dependent for dependent in certain}
        doubts = [dependent for dependent in possible if dependent.dataset not in broken]
        if subject.column is not None:
            doubts += self._hidden(graph, subject.dataset, possible).values()
        for verdict, dependents_of_verdict in ((Verdict.BROKEN, certain), (Verdict.UNKNOWN, doubts)):
            for dependent in sorted(
                dependents_of_verdict, key=lambda dependent: (dependent.distance, dependent.dataset)
            ):
                yield self._judged(dependent, verdict)

    def _hidden(self, graph: LineageGraph, dataset: int, possible: tuple[Dependent, ...]) -> dict[int, Dependent]:
        """The data sets that may depend on a column of a data set, because a process that reads it, or a dependent of
        it, has columns that are not known; with all that is made of them.
        """
        columns = self.index.document.columns
        ways: dict[int, tuple[Edge | Flow, ...]] = {dataset: ()}
        ways |= {
            possible_dependent.dataset: possible_dependent.way
            for possible_dependent in possible
            if any(columns[number].name for number in possible_dependent.columns)
        }
        possible_datasets = {dataset, *(dependent.dataset for dependent in possible)}
        hidden_dependents: dict[int, Dependent] = {}
        for start, way in ways.items():
            for flow in graph.flows_out_of(start):
                if flow.output not in possible_datasets and self._hides_columns(flow):
                    first = Dependent(dataset=flow.output, columns=(), way=(*way, flow))
                    hidden_dependents.setdefault(flow.output, first)
                    for further in dependents(graph, dataset=flow.output):
                        if further.dataset not in possible_datasets:
                            whole_way = (*first.way, *further.way)
                            hidden_dependents.setdefault(
                                further.dataset, Dependent(dataset=further.dataset, columns=(), way=whole_way)
                            )
        return hidden_dependents

    def _hides_columns(self, flow: Flow) -> bool:
        """Whether columns that a process writes are not known."""
        written_columns = self.index.columns.get(flow.output, ())
        exact = self.index.document.processes[flow.process].exact
        return not exact and (not written_columns or not self.index.unknown.isdisjoint(written_columns))

    def _judged(self, dependent: Dependent, verdict: Verdict) -> Affected:
        document = self.index.document
        dataset = document.datasets[dependent.dataset]
        columns = dependent.columns or self.index.columns.get(dependent.dataset, ())
        tags = {name for column in columns for name in self.index.tags.get(column, ())} | set(dataset.tags)
        tags |= {
            name
            for name, tag_propagation in self.tags.items()
            if any(tag_propagation.state(column) is TagState.TAGGED for column in columns)
        }
        return Affected(
            dataset=dataset.qualified_name,
            name=dataset.name,
            type=dataset.type,
            columns=tuple(document.columns[column].name for column in dependent.columns),
            owner=dataset.owner,
            verdict=verdict,
            classifications=tuple(sorted(tags)),
            policies=tuple(policy.name for policy in self.policies if policy.is_about(dependent.dataset, columns)),
            way=tuple(map(self.lineage.step, dependent.way)),
            is_foreign=dataset.is_foreign,
        )


MARKER = "<!-- throughline impact -->"
"""The first line, which no one sees: by it the next push finds the comment to replace."""
LONGEST = 60_000
"""Characters of a comment: GitHub takes 65,536, Azure DevOps 150,000."""
_TABLE = "| | data set | columns | owner | classified | policies | way |\n|---|---|---|---|---|---|---|"
_WORDS = {Verdict.BROKEN: "**breaks**", Verdict.UNKNOWN: "not known", Verdict.HOLDS: "nothing breaks"}
_TICKS = re.compile("`+")


def reports(breakages: Iterable[Breakage]) -> tuple[Report, ...]:
    """A report for each file that changes something, or for each change that no file makes."""
    placed = groupby(breakages, key=lambda breakage: breakage.place or breakage.dataset)
    return tuple(Report(place=place, results=tuple(breakage.result for breakage in group)) for place, group in placed)


def as_markdown(breakages: tuple[Breakage, ...]) -> str:
    """A comment of at most LONGEST characters: the counts, then a table for each change that breaks something. Names
    stand in code spans, so that none of them is markup, a link or a mention.
    """
    affected = [dependent for breakage in breakages for dependent in breakage.affected]
    verdicts = [dependent_found.verdict for dependent_found in affected] + [
        Verdict.UNKNOWN for breakage in breakages if breakage.remark
    ]
    counts = ((verdicts.count(Verdict.BROKEN), "broken"), (verdicts.count(Verdict.UNKNOWN), "not known"))
    total = ", ".join(f"{count:,} {word}" for count, word in counts if count) or "nothing breaks"
    text, left_out = f"{MARKER}\n### Lineage: what this change breaks\n\n**{total}**\n", 0
    for line in _lines(breakages):
        if left_out or len(text) + len(line) > LONGEST:
            left_out += 1
        else:
            text += f"{line}\n"
    return text + (f"\nand {left_out:,} more lines: `throughline impact` prints all\n" if left_out else "")


def _lines(breakages: Iterable[Breakage]) -> Iterator[str]:
    for breakage in breakages:
        file = f" in {_code(breakage.place)}" if breakage.place else ""
        yield f"\n{breakage.change} {_code(breakage.subject)}{file}: {_WORDS[breakage.verdict]}"
        if breakage.remark:
            yield f"\n{_code(breakage.remark)}"
        if breakage.affected:
            yield f"\n{_TABLE}"
            yield from map(_row, breakage.affected)


def _row(affected: Affected) -> str:
    names = (column or "(all rows)" for column in affected.columns)
    cells = (
        _WORDS[affected.verdict],
        _code(f"{affected.name} ({affected.type})" if affected.is_foreign else affected.dataset),
        *(", ".join(map(_code, values)) for values in (names, [affected.owner], affected.classifications)),
        ", ".join(map(_code, affected.policies)),
        "<br>".join(_code(step) for step in affected.way),
    )
    return f"| {' | '.join(cells)} |"


def _code(value: object) -> str:
    """A code span, also for a cell of a table."""
    text = visible(value)
    if not text:
        return ""
    ticks = "`" * (max(map(len, _TICKS.findall(text)), default=0) + 1)
    padding = " " if "`" in text else ""
    return f"{ticks}{padding}{text}{padding}{ticks}".replace("|", "\\|")
