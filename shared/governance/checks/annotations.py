"""What a check found, as lines that a pipeline shows at the rules file: commands of GitHub Actions and Azure Pipelines.

GitHub: `::error file=…,line=…,title=…::text`, in which `%` and ends of lines are escaped, in values also `:` and `,`
(the runner's workflow commands). Azure: `##vso[task.logissue type=error;sourcepath=…;linenumber=…]text`, in which `%`
is %AZP25, and in values `;` and `]` are escaped (the agent's logging commands).
"""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum

from shared.governance.checks.findings import Verdict
from shared.governance.checks.reports import Report, headline
from shared.texts.visible import visible

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
