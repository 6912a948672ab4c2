"""Results of a check as JUnit XML, SARIF 2.1.0 and JSON, for pipelines."""

import json
from collections.abc import Iterable
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from shared.governance.checks.checking import Result
from shared.governance.checks.findings import Verdict

_SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def as_junit(results: Iterable[Result], place: str) -> str:
    """A test suite with a case for each demand; one that only warns is skipped."""
    cases = list(results)
    suite = Element("testsuite", name=place, tests=str(len(cases)))
    for each in cases:
        case = SubElement(suite, "testcase", classname=each.policy, name=each.demand, file=place, line=str(each.line))
        if each.fails:
            SubElement(case, "failure", message=_printable(_headline(each))).text = _printable(each.text)
        elif each.verdict is not Verdict.HOLDS:
            SubElement(case, "skipped", message=_printable(_headline(each)))
    suite.set("failures", str(sum(each.fails for each in cases)))
    suite.set("skipped", str(sum(not each.fails and each.verdict is not Verdict.HOLDS for each in cases)))
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suite, encoding="unicode") + "\n"


def as_sarif(results: Iterable[Result], place: str) -> str:
    """A run with a result for each finding, at the line of the demand in the rules file."""
    cases = list(results)
    found = [
        {
            "ruleId": each.demand.partition(" ")[0],
            "level": "error" if each.fails else "warning",
            "message": {"text": "\n".join([f"{each.policy}: {finding.text}", *_ways(finding.way)])},
            "locations": [
                {"physicalLocation": {"artifactLocation": {"uri": place}, "region": {"startLine": max(each.line, 1)}}}
            ],
        }
        for each in cases
        for finding in each.findings
    ]
    rules = [{"id": name} for name in sorted({each.demand.partition(" ")[0] for each in cases})]
    driver = {"name": "throughline check", "rules": rules}
    log = {"$schema": _SARIF, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": found}]}
    return json.dumps(log, indent=2) + "\n"


def as_json(results: Iterable[Result], place: str) -> str:
    """The results as they are."""
    return json.dumps({"rules": place, "results": [_plain(each) for each in results]}, indent=2) + "\n"


def _plain(result: Result) -> dict[str, Any]:
    return {
        "policy": result.policy,
        "demand": result.demand,
        "verdict": result.verdict,
        "fails": result.fails,
        "line": result.line,
        "found": result.found,
        "findings": [
            {
                "verdict": each.verdict,
                "text": each.text,
                "way": [
                    {"source": step.source, "target": step.target, "process": step.process, "kind": step.kind}
                    for step in each.way
                ],
            }
            for each in result.findings
        ],
    }


def _headline(result: Result) -> str:
    first = result.findings[0].text if result.findings else str(result.verdict)
    more = f", and {result.found - 1} more" if result.found > 1 else ""
    return f"{first}{more}"


def _ways(way: Iterable[Any]) -> list[str]:
    return [f"{step.source} → {step.target} by {step.process}" for step in way]


def _printable(text: str) -> str:
    """Without characters that XML cannot hold."""
    return "".join(each if each.isprintable() or each in "\n\t" else "?" for each in text)
