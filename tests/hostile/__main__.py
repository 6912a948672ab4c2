"""`python -m tests.hostile`: publish to a catalog with each kind of failure, and print the numbers of calls."""

import logging
import sys

from tests.hostile.runs import HEALED_AFTER, HOSTILE, POISONS, ROUNDS, SEARCHED, Run, publish_all_against
from tests.support.troubled_catalog import TroubledCatalog

_FORM = "{:46} {:>6} {:>6} {:>7} {:>8} {:>8}\n"


def main() -> int:
    """Print the table; return 0 when all lineage arrived in at most twice the successful calls of the calm run."""
    logging.disable()
    sys.stdout.write(_FORM.format("", "calls", "well", "ratio", "minutes", "arrived"))
    good = True
    with TroubledCatalog() as server:
        for search in (False, True):
            calm = publish_all_against(server, search=search)
            good &= _report("calm, all searched for" if search else "calm", calm, calm)
            for name, troubles in {**HOSTILE, **POISONS}.items():
                if search and name not in SEARCHED:
                    continue
                heal_after = HEALED_AFTER if name in POISONS else ROUNDS
                run = publish_all_against(server, *troubles, search=search, heal_after=heal_after)
                good &= _report(name, run, calm)
    return 0 if good else 1


def _report(name: str, run: Run, calm: Run) -> bool:
    ratio, arrived = run.well / calm.well, run.held == calm.held and not run.number_left
    figures = (run.total, run.well, f"{ratio:.2f}x", f"{run.minutes:.1f}", "all" if arrived else "NOT ALL")
    sys.stdout.write(_FORM.format(name, *figures))
    sys.stdout.flush()
    return arrived and ratio <= 2


if __name__ == "__main__":
    sys.exit(main())
