"""Reports of a check: text, JUnit XML, SARIF 2.1.0, JSON, and lines that a pipeline shows at the rules file.

GitHub: `::error file=…,line=…,title=…::text`, in which `%` and ends of lines are escaped, in values also `:` and `,`
(the runner's workflow commands). Azure: `##vso[task.logissue type=error;sourcepath=…;linenumber=…]text`, in which `%`
is %AZP25, and in values `;` and `]` are escaped (the agent's logging commands).
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, tostring

from shared.governance.checks.checking import Result
from shared.governance.checks.findings import Verdict
from shared.rules_file.reading import Remark
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


MAX_ANNOTATIONS = 50
"""Lines of one check; GitHub shows ten of a kind for a step anyway."""


class Annotations(StrEnum):
    """The pipeline that reads the lines."""

    GITHUB = "github"
    AZURE = "azure"


def annotated(report: Report, form: Annotations) -> tuple[str, ...]:
    """The lines for demands that do not hold, failures first, then for rules without an effect. At most
    MAX_ANNOTATIONS.
    """
    line = _FORMS[form]
    found = sorted(_found(report), key=lambda each: each[0] != "error")
    return tuple(line(report.place, *each) for each in found[:MAX_ANNOTATIONS])


def _found(report: Report) -> Iterator[tuple[str, int, str, str]]:
    """The level, line, title and text of each annotation."""
    for each in report.results:
        if each.verdict is not Verdict.HOLDS:
            level = "error" if each.fails else "warning"
            way = each.findings[0].way if each.findings else ()
            text = "\n".join([headline(each), *map(visible, way)])
            yield level, each.line, visible(f"{each.policy}: {each.demand}"), text
    for remark in report.remarks:
        yield "warning", remark.line, "a rule without an effect", visible(remark.text)


def _github(place: str, level: str, line: int, title: str, text: str) -> str:
    values = {"file": place, "line": str(line), "title": title}
    given = ",".join(f"{key}={value.translate(_GITHUB_VALUE)}" for key, value in values.items())
    return f"::{level} {given}::{text.translate(_GITHUB)}"


def _azure(place: str, level: str, line: int, title: str, text: str) -> str:
    values = {"type": level, "sourcepath": place, "linenumber": str(line)}
    given = ";".join(f"{key}={value.translate(_AZURE_VALUE)}" for key, value in values.items())
    return f"##vso[task.logissue {given}]{f'{title}: {text}'.translate(_AZURE)}"


_GITHUB_TEXT = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_AZURE_TEXT = {**_GITHUB_TEXT, "%": "%AZP25"}
_GITHUB, _GITHUB_VALUE = str.maketrans(_GITHUB_TEXT), str.maketrans({**_GITHUB_TEXT, ":": "%3A", ",": "%2C"})
_AZURE, _AZURE_VALUE = str.maketrans(_AZURE_TEXT), str.maketrans({**_AZURE_TEXT, ";": "%3B", "]": "%5D"})
_FORMS: Mapping[Annotations, Callable[[str, str, int, str, str], str]] = {
    Annotations.GITHUB: _github,
    Annotations.AZURE: _azure,
}
