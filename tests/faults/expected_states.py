"""The states of events according to the pure core, counted as `status` counts them."""

from collections import Counter
from collections.abc import Iterable

from shared.openlineage.decoding import decode
from shared.openlineage.selection import Ignore, select
from shared.translation.reference import History


def expected_states(pure: History, bodies: Iterable[bytes]) -> tuple[Counter[str], Counter[str]]:
    """Return the numbers of events by state, and of skipped events by reason."""
    verdicts = {run_verdict.run_id: run_verdict for run_verdict in pure.runs}
    states: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for event in map(decode, set(bodies)):
        decision = select(event)
        verdict = verdicts.get(event.run_id)
        state = "skipped" if isinstance(decision, Ignore) or verdict is None else verdict.state
        states[state] += 1
        if isinstance(decision, Ignore):
            reasons[decision.reason] += 1
        elif verdict and state == "skipped":
            reasons[verdict.reason or ""] += 1
    return states, reasons
