"""Reports of a check: text, JUnit XML, SARIF 2.1.0 and JSON."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, tostring

from shared.governance.checks.checking import Result
from shared.governance.checks.findings import Verdict
from shared.rules_file.remark import Remark
from shared.texts.visible import visible

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
    counts = [(verdict, sum(each.verdict is verdict for each in report.results)) for verdict in Verdict]
    total = ", ".join(f"{count} {_COUNTED[verdict]}" for verdict, count in counts if count)
    return "\n".join([*(each.text for each in report.results), *_remarks(report), total]) + "\n"


def _remarks(report: Report) -> list[str]:
    return [visible(f"{report.place}:{each.line}: {each.text}") for each in report.remarks]


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
    suite.set("failures", str(sum(each.fails for each in cases)))
    suite.set("skipped", str(sum(not each.fails and each.verdict is not Verdict.HOLDS for each in cases)))
    for each in cases:
        case = SubElement(suite, "testcase", classname=visible(each.policy), name=visible(each.demand))
        case.attrib.update(file=place, line=str(each.line), time="0")
        if each.fails:
            kind = str(each.verdict)
            SubElement(case, "failure", message=headline(each), type=kind).text = each.text
        elif each.verdict is not Verdict.HOLDS:
            SubElement(case, "skipped", message=headline(each))
    if report.remarks:
        SubElement(suite, "system-out").text = "\n".join(_remarks(report))
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suite, encoding="unicode") + "\n"


def as_sarif(report: Report) -> str:
    """A run with a result for each finding, at the line of the demand, so that pull requests show it there."""
    found = [
        _sarif_result(
            report.place,
            line=each.line,
            rule=each.demand.partition(" ")[0],
            level="error" if each.fails else "warning",
            text="\n".join([f"{each.policy}: {finding.text}", *map(str, finding.way)]),
            same=f"{each.policy}\0{each.demand}\0{finding.text}",
        )
        for each in report.results
        for finding in each.findings
    ]
    found += [
        _sarif_result(report.place, line=each.line, rule=_NO_EFFECT, level="note", text=each.text, same=each.text)
        for each in report.remarks
    ]
    names = sorted({each["ruleId"] for each in found} | {each.demand.partition(" ")[0] for each in report.results})
    rules = [{"id": name, "shortDescription": {"text": name.replace("_", " ")}} for name in names]
    driver = {"name": "throughline check", "rules": rules}
    log = {"$schema": _SARIF, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": found}]}
    return json.dumps(log, indent=2) + "\n"


def _sarif_result(place: str, *, line: int, rule: str, level: str, text: str, same: str) -> dict[str, Any]:
    """One result. `same`: the text by which a later run recognises the result."""
    where = {"artifactLocation": {"uri": quote(place.replace("\\", "/"))}, "region": {"startLine": max(line, 1)}}
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": text},
        "locations": [{"physicalLocation": where}],
        "partialFingerprints": {"throughline/v1": hashlib.sha256(same.encode()).hexdigest()},
    }


def as_json(report: Report) -> str:
    """The results as JSON."""
    plain = {
        "rules": report.place,
        "results": [asdict(each) for each in report.results],
        "no_effect": [asdict(each) for each in report.remarks],
    }
    return json.dumps(plain, indent=2) + "\n"


def headline(result: Result) -> str:
    """The first finding of a result, and how many there are, as one line."""
    first = result.findings[0].text if result.findings else str(result.verdict)
    more = f", and {result.found - 1:,} more" if result.found > 1 else ""
    return visible(f"{first}{more}")
