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
ALL_HOLD, BROKEN, NOT_KNOWN = 0, 3, 4
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
        for finding in self.findings:
            lines.append(f"  {finding.text}")
            lines += [f"    {step}" for step in finding.way]
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
    document = rules.judged(document)
    lineage = lineage_of(document)
    tags = propagate(document, rules, today=facts.now.date(), catalog=catalog.tags)
    unread = _unread(document, rules, catalog)
    subjects = ((policy, subject_of(lineage, policy.where)) for policy in rules.policies)
    if dataset is not None:
        facts = replace(facts, excluded=())
        subjects = ((policy, matched.of(dataset)) for policy, matched in subjects if dataset in matched.datasets)
    return tuple(
        _result(policy, Case(wanted=demand, subject=subject, rules=rules, facts=facts, tags=tags, unread=unread))
        for policy, subject in subjects
        for demand in policy.wanted
    )


def _unread(document: LineageDocument, rules: Rules, catalog: CatalogReading) -> dict[str, str]:
    """By classification: why its origins are not known, because its rules ask for something that was not read."""
    reasons: dict[str, str] = {}
    for tag in rules.tags:
        if tag.classified_as and catalog.tags is None:
            cause = f" ({catalog.why})" if catalog.why else ""
            needed = f"the catalog's classifications, which were not read{cause}"
        elif tag.tag and not document.tags:
            needed = f"tags of events, and the {document.source} has none"
        else:
            continue
        reasons.setdefault(tag.classification, f"the rule in line {tag.line} asks for {needed}")
    return reasons


def _result(policy: Policy, case: Case) -> Result:
    no_subject = [doubt("no data set or column matches the policy")]
    findings = list(DEMANDS[case.wanted.demand](case)) if case.subject.datasets else no_subject
    if excluded_count := len(matching_names(case.facts.excluded, policy.where.datasets)):
        findings.append(doubt(f"a filter leaves out {excluded_count} of the data sets that the policy names"))
    against = [finding for finding in findings if finding.verdict is Verdict.BROKEN]
    verdict = Verdict.BROKEN if against else Verdict.UNKNOWN if findings else Verdict.HOLDS
    reported = sorted(against or findings, key=lambda finding: len(finding.way))
    return Result(
        policy=policy.name,
        demand=case.wanted.text,
        verdict=verdict,
        fails=verdict is Verdict.BROKEN or (verdict is Verdict.UNKNOWN and policy.unknown is OnUnknown.FAIL),
        findings=tuple(reported[:MAX_FINDINGS]),
        found=len(reported),
        line=case.wanted.line,
    )


def exit_code(results: tuple[Result, ...]) -> int:
    """0: all policies hold, or only warn. 3: one is broken. 4: one that must hold is not known to hold."""
    if any(result.verdict is Verdict.BROKEN for result in results):
        return BROKEN
    return NOT_KNOWN if any(result.fails for result in results) else ALL_HOLD
