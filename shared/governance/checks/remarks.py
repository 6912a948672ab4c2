"""Rules of a file that have no effect: they match nothing, or have expired. A check that holds may do so by mistake."""

from dataclasses import dataclass
from datetime import date

from shared.governance.propagation import CatalogTags
from shared.governance.rules import Mask, Rules
from shared.governance.unmatched import unmatched
from shared.lineage.document import LineageDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A rule without an effect: its line in the file, and why."""

    line: int
    text: str


def remarks(
    document: LineageDocument, rules: Rules, *, today: date, catalog: CatalogTags | None = None
) -> tuple[Remark, ...]:
    """The rules without an effect on this day, in the file's order."""
    without = [
        Remark(line=each.line, text=f"[[{each.table}]] has no effect: {each.text}")
        for each in unmatched(document, rules, catalog)
    ]
    ended = [
        Remark(
            line=each.line,
            text=f"[[{'mask' if isinstance(each, Mask) else 'declassify'}]] has no effect: it expired on"
            f" {each.approval.expires}",
        )
        for each in rules.expired(today)
    ]
    return tuple(sorted((*without, *ended), key=lambda each: each.line))
