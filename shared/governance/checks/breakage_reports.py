"""Reports of what changes break: Markdown for a comment of a pull request; text and SARIF as those of a check."""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from shared.governance.checks.breakage import Affected, Breakage
from shared.governance.checks.findings import Verdict
from shared.governance.checks.reports import Report
from shared.texts.visible import visible

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
    affected = [each for breakage in breakages for each in breakage.affected]
    verdicts = [each.verdict for each in affected] + [Verdict.UNKNOWN for breakage in breakages if breakage.remark]
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
