"""Check the policies of a rules file against a document of lineage, and report it: text, JUnit XML, SARIF 2.1.0, JSON,
and lines that a pipeline shows at the rules file.

GitHub: `::error file=…,line=…,title=…::text`, in which `%` and ends of lines are escaped, in values also `:` and `,`
(the runner's workflow commands). Azure: `##vso[task.logissue type=error;sourcepath=…;linenumber=…]text`, in which `%`
is %AZP25, and in values `;` and `]` are escaped (the agent's logging commands).
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, tostring

from shared.governance.checks import demands
from shared.governance.checks.findings import Case, Facts, Finding, Verdict, doubt, lineage_of, subject_of
from shared.governance.propagation import NOT_READ, CatalogReading, propagate
from shared.governance.rules import Demand, OnUnknown, Policy, Rules, matching_names
from shared.lineage.document import LineageDocument
from shared.rules_file import Remark
from shared.texts import visible

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
    unread_reason = _unread(document, rules, catalog)
    subjects = ((policy, subject_of(lineage, policy.where)) for policy in rules.policies)
    if dataset is not None:
        facts = replace(facts, excluded=())
        subjects = ((policy, matched.of(dataset)) for policy, matched in subjects if dataset in matched.datasets)
    return tuple(
        _result(policy, Case(wanted=demand, subject=subject, rules=rules, facts=facts, tags=tags, unread=unread_reason))
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
    failures = (Verdict.BROKEN, Verdict.UNKNOWN) if policy.unknown is OnUnknown.FAIL else (Verdict.BROKEN,)
    return result_of(policy.name, case.wanted.text, findings, case.wanted.line, failures=failures)


def result_of(
    policy: str,
    demand: str,
    findings: Collection[Finding],
    line: int,
    *,
    failures: Collection[Verdict] = (Verdict.BROKEN, Verdict.UNKNOWN),
) -> Result:
    """The result of a demand with these findings: those that break it, the nearest first, else those that leave it
    unknown. `failures`: the verdicts with which it fails.
    """
    against = [finding for finding in findings if finding.verdict is Verdict.BROKEN]
    verdict = Verdict.BROKEN if against else Verdict.UNKNOWN if findings else Verdict.HOLDS
    reported = sorted(against or findings, key=lambda finding: len(finding.way))
    return Result(
        policy=policy,
        demand=demand,
        verdict=verdict,
        fails=verdict in failures,
        findings=tuple(reported[:MAX_FINDINGS]),
        found=len(reported),
        line=line,
    )


def exit_code(results: tuple[Result, ...]) -> int:
    """0: all policies hold, or only warn. 3: one is broken. 4: one that must hold is not known to hold."""
    if any(result.verdict is Verdict.BROKEN for result in results):
        return BROKEN
    return NOT_KNOWN if any(result.fails for result in results) else ALL_HOLD


_SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_NO_EFFECT = "no_effect"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The results of a rules file, and its rules without an effect. `place`: the file's path."""

    place: str
    results: tuple[Result, ...]
    remarks: tuple[Remark, ...] = ()


def as_text(report: Report) -> str:
    """The results as text; the last line has the counts."""
    counts = [(verdict, sum(result.verdict is verdict for result in report.results)) for verdict in Verdict]
    total = ", ".join(f"{count} {_COUNTED[verdict]}" for verdict, count in counts if count)
    return "\n".join([*(result.text for result in report.results), *_remarks(report), total]) + "\n"


def _remarks(report: Report) -> list[str]:
    return [visible(f"{report.place}:{remark.line}: {remark.text}") for remark in report.remarks]


_COUNTED: Mapping[Verdict, str] = {
    Verdict.HOLDS: "held",
    Verdict.BROKEN: "broken",
    Verdict.UNKNOWN: "not known",
}


def as_junit(report: Report) -> str:
    """A test suite with one case for each demand. A demand that only warns is skipped; rules without an effect are in
    the output.
    """
    place, cases = report.place, report.results
    suite = Element("testsuite", name=place, tests=str(len(cases)), errors="0")
    suite.set("failures", str(sum(case.fails for case in cases)))
    suite.set("skipped", str(sum(not case.fails and case.verdict is not Verdict.HOLDS for case in cases)))
    for test_case in cases:
        case = SubElement(suite, "testcase", classname=visible(test_case.policy), name=visible(test_case.demand))
        case.attrib.update(file=place, line=str(test_case.line), time="0")
        if test_case.fails:
            kind = str(test_case.verdict)
            SubElement(case, "failure", message=headline(test_case), type=kind).text = test_case.text
        elif test_case.verdict is not Verdict.HOLDS:
            SubElement(case, "skipped", message=headline(test_case))
    if report.remarks:
        SubElement(suite, "system-out").text = "\n".join(_remarks(report))
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suite, encoding="unicode") + "\n"


def as_sarif(*reports: Report) -> str:
    """A run with a result for each finding, at the line of the demand, so that pull requests show it there."""
    sarif_results = [
        _sarif_result(
            report.place,
            line=result.line,
            rule=result.demand.partition(" ")[0],
            level="error" if result.fails else "warning",
            text="\n".join([f"{result.policy}: {finding.text}", *map(str, finding.way)]),
            identity=f"{result.policy}\0{result.demand}\0{finding.text}",
        )
        for report in reports
        for result in report.results
        for finding in result.findings
    ]
    sarif_results += [
        _sarif_result(
            report.place, line=remark.line, rule=_NO_EFFECT, level="note", text=remark.text, identity=remark.text
        )
        for report in reports
        for remark in report.remarks
    ]
    demands = {result.demand.partition(" ")[0] for report in reports for result in report.results}
    names = sorted({entry["ruleId"] for entry in sarif_results} | demands)
    rules = [{"id": name, "shortDescription": {"text": name.replace("_", " ")}} for name in names]
    driver = {"name": "throughline check", "rules": rules}
    log = {"$schema": _SARIF, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": sarif_results}]}
    return json.dumps(log, indent=2) + "\n"


def _sarif_result(place: str, *, line: int, rule: str, level: str, text: str, identity: str) -> dict[str, Any]:
    """One result. `identity`: the text by which a later run recognises the result."""
    location = {"artifactLocation": {"uri": quote(place.replace("\\", "/"))}, "region": {"startLine": max(line, 1)}}
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"throughline/v1": hashlib.sha256(identity.encode()).hexdigest()},
    }


def as_json(report: Report) -> str:
    """The results as JSON."""
    plain = {
        "rules": report.place,
        "results": [asdict(result) for result in report.results],
        "no_effect": [asdict(remark) for remark in report.remarks],
    }
    return json.dumps(plain, indent=2) + "\n"


def headline(result: Result) -> str:
    """The first finding of a result, and how many there are, as one line."""
    first = result.findings[0].text if result.findings else str(result.verdict)
    remainder = f", and {result.found - 1:,} more" if result.found > 1 else ""
    return visible(f"{first}{remainder}")


MAX_ANNOTATIONS = 50
"""Lines of one check; GitHub shows ten of a kind for a step anyway."""


Annotations = Literal["github", "azure"]
"""The pipeline that reads the lines."""


def annotated(report: Report, form: Annotations) -> tuple[str, ...]:
    """The lines for demands that do not hold, failures first, then for rules without an effect. At most
    MAX_ANNOTATIONS.
    """
    line = _FORMS[form]
    annotations = sorted(_found(report), key=lambda annotation: annotation[0] != "error")
    return tuple(line(report.place, *annotation) for annotation in annotations[:MAX_ANNOTATIONS])


def _found(report: Report) -> Iterator[tuple[str, int, str, str]]:
    """The level, line, title and text of each annotation."""
    for result in report.results:
        if result.verdict is not Verdict.HOLDS:
            level = "error" if result.fails else "warning"
            way = result.findings[0].way if result.findings else ()
            text = "\n".join([headline(result), *map(visible, way)])
            yield level, result.line, visible(f"{result.policy}: {result.demand}"), text
    for remark in report.remarks:
        yield "warning", remark.line, "a rule without an effect", visible(remark.text)


def _github(place: str, level: str, line: int, title: str, text: str) -> str:
    values = {"file": place, "line": str(line), "title": title}
    properties = ",".join(f"{key}={value.translate(_GITHUB_VALUE)}" for key, value in values.items())
    return f"::{level} {properties}::{text.translate(_GITHUB)}"


def _azure(place: str, level: str, line: int, title: str, text: str) -> str:
    values = {"type": level, "sourcepath": place, "linenumber": str(line)}
    properties = ";".join(f"{key}={value.translate(_AZURE_VALUE)}" for key, value in values.items())
    return f"##vso[task.logissue {properties}]{f'{title}: {text}'.translate(_AZURE)}"


_GITHUB_TEXT = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_AZURE_TEXT = {**_GITHUB_TEXT, "%": "%AZP25"}
_GITHUB, _GITHUB_VALUE = str.maketrans(_GITHUB_TEXT), str.maketrans({**_GITHUB_TEXT, ":": "%3A", ",": "%2C"})
_AZURE, _AZURE_VALUE = str.maketrans(_AZURE_TEXT), str.maketrans({**_AZURE_TEXT, ";": "%3B", "]": "%5D"})
_FORMS: Mapping[Annotations, Callable[[str, str, int, str, str], str]] = {
    "github": _github,
    "azure": _azure,
}
