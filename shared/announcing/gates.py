"""Policies as gates of the watch: the demands that are broken."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from shared.announcing.recorded_state import Gates
from shared.governance.checks.checking import Result, check
from shared.governance.checks.findings import Facts, QualityAssertion, Verdict
from shared.governance.propagation import NOT_READ, CatalogReading
from shared.governance.rules import Rules, matching_datasets
from shared.lineage.document import LineageDocument
from shared.watching.comparing.snapshot import BrokenGate

ReadCatalog = Callable[[LineageDocument, Rules], CatalogReading]
"""Reads the classifications that others set in the catalog; raises CatalogUnavailable."""


def not_read(_document: LineageDocument, _rules: Rules) -> CatalogReading:
    """Read nothing of the catalog."""
    return NOT_READ


def gates_of(
    rules: Rules,
    read: ReadCatalog = not_read,
    *,
    quality: Mapping[str, tuple[QualityAssertion, ...]] | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Gates:
    """A function that judges lineage by the policies of a rules file. Results that are not known break no gate;
    `throughline check` names them. `quality`: the last results of quality tests by qualified name; None: not read.

    If the catalog does not answer, the function raises CatalogUnavailable: the snapshot is postponed. Otherwise a gate
    would seem to hold, and would be announced again at the next snapshot.
    """

    def judged(document: LineageDocument) -> Sequence[BrokenGate]:
        results = check(document, rules, Facts(now=now(), quality=quality), catalog=read(document, rules))
        return [_broken(document, rules, each) for each in results if each.verdict is Verdict.BROKEN]

    return judged


def _broken(document: LineageDocument, rules: Rules, result: Result) -> BrokenGate:
    """The gate, with the finding that has the shortest path."""
    first = result.findings[0]
    way = f": {', '.join(map(str, first.way))}" if first.way else ""
    more = f", and {result.found - 1:,} more" if result.found > 1 else ""
    datasets = {
        number
        for policy in rules.policies
        if policy.name == result.policy
        for number in matching_datasets(document, policy.where.datasets)
    }
    keys = ((dataset.type, dataset.qualified_name) for dataset in map(document.datasets.__getitem__, sorted(datasets)))
    return BrokenGate(
        policy=result.policy, rule=result.demand, sentence=f"{first.text}{way}{more}", datasets=tuple(keys)
    )
