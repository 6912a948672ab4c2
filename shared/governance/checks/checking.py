"""Check the policies of a rules file against a document of lineage."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from shared.governance.checks import demands
from shared.governance.checks.findings import Case, Facts, Finding, Verdict, doubt, lineage_of, subject_of
from shared.governance.propagation import NOT_READ, CatalogReading, propagate
from shared.governance.rules import Demand, OnUnknown, Policy, Rules, matching_names
from shared.lineage.document import LineageDocument
from shared.texts.visible import visible

MAX_FINDINGS = 100
"""Findings of one demand that a result keeps; the rest is counted."""
DEMANDS: Mapping[Demand, Callable[[Case], Iterator[Finding]]] = {
    Demand.NO_TAG: demands.no_tag,
    Demand.SOURCES_ONLY: demands.sources_only,
    Demand.MASKED_BY: demands.masked_by,
    Demand.FRESH_WITHIN: demands.fresh_within,
    Demand.EVERY_INPUT: demands.every_input,
    Demand.NO_FAILED_UPSTREAM: demands.no_failed_upstream,
    Demand.TRACED: demands.traced,
    Demand.UNCHANGED_SINCE: demands.unchanged_since,
    Demand.QUALITY_PASSED: demands.quality_passed,
}
HELD, BROKEN, NOT_KNOWN = 0, 3, 4
"""Exit codes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of one demand of a policy. `line`: of the demand in the rules file. `found`: the number of all
    findings.
    """

    policy: str
    demand: str
    verdict: Verdict
    fails: bool
    findings: tuple[Finding, ...]
    found: int
    line: int

    @property
    def text(self) -> str:
        """The result with its findings, as lines of text for people."""
        lines = [f"{self.verdict.upper()}  {self.policy}: {self.demand}"]
        for each in self.findings:
            lines.append(f"  {each.text}")
            lines += [f"    {step}" for step in each.way]
        if self.found > len(self.findings):
            lines.append(f"  and {self.found - len(self.findings):,} more")
        return "\n".join(map(visible, lines))


def check(
    document: LineageDocument,
    rules: Rules,
    facts: Facts,
    *,
    catalog: CatalogReading = NOT_READ,
    dataset: int | None = None,
) -> tuple[Result, ...]:
    """Check each demand of each policy, in the file's order.

    `catalog`: the classifications that others set in the catalog. A demand that depends on them does not hold if they
    were not read. `dataset`: check only what policies demand of this data set; the result is empty if no policy names
    it.
    """
    lineage = lineage_of(document)
    tags = propagate(document, rules, today=facts.now.date(), catalog=catalog.tags)
    unread = _unread(document, rules, catalog)
    subjects = ((policy, subject_of(lineage, policy.where)) for policy in rules.policies)
    if dataset is not None:
        facts = replace(facts, excluded=())
        subjects = ((policy, each.of(dataset)) for policy, each in subjects if dataset in each.datasets)
    return tuple(
        _result(policy, Case(wanted=wanted, subject=subject, rules=rules, facts=facts, tags=tags, unread=unread))
        for policy, subject in subjects
        for wanted in policy.wanted
    )


def _unread(document: LineageDocument, rules: Rules, catalog: CatalogReading) -> dict[str, str]:
    """By classification: why its origins are not known, because its rules ask for something that was not read."""
    found: dict[str, str] = {}
    for each in rules.tags:
        if each.classified_as and catalog.tags is None:
            why = f" ({catalog.why})" if catalog.why else ""
            what = f"the catalog's classifications, which were not read{why}"
        elif each.tag and not document.tags:
            what = f"tags of events, and the {document.source} has none"
        else:
            continue
        found.setdefault(each.classification, f"the rule in line {each.line} asks for {what}")
    return found


def _result(policy: Policy, case: Case) -> Result:
    nothing = [doubt("no data set or column matches the policy")]
    found = list(DEMANDS[case.wanted.demand](case)) if case.subject.datasets else nothing
    if hidden := len(matching_names(case.facts.excluded, policy.where.datasets)):
        found.append(doubt(f"a filter leaves out {hidden} of the data sets that the policy names"))
    against = [each for each in found if each.verdict is Verdict.BROKEN]
    verdict = Verdict.BROKEN if against else Verdict.UNKNOWN if found else Verdict.HOLDS
    shown = sorted(against or found, key=lambda each: len(each.way))
    return Result(
        policy=policy.name,
        demand=case.wanted.text,
        verdict=verdict,
        fails=verdict is Verdict.BROKEN or (verdict is Verdict.UNKNOWN and policy.unknown is OnUnknown.FAIL),
        findings=tuple(shown[:MAX_FINDINGS]),
        found=len(shown),
        line=case.wanted.line,
    )


def exit_code(results: tuple[Result, ...]) -> int:
    """0: all policies hold, or only warn. 3: one is broken. 4: one that must hold is not known to hold."""
    if any(each.verdict is Verdict.BROKEN for each in results):
        return BROKEN
    return NOT_KNOWN if any(each.fails for each in results) else HELD
