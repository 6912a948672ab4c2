"""`python -m tests.func_delivery`: send events to a world under a stand-in for `func`; measure when all are published.

python -m tests.func_delivery   2,000 events at 10 a second
"""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.func_delivery import SOON, send_slowly, stand_in
from throughline.local.world import World


def main() -> int:
    """Run the command line; return 0 when all events were published in time, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.func_delivery", description=__doc__)
    parser.add_argument("--events", type=int, default=2000)
    parser.add_argument("--rate", type=float, default=10.0, help="events a second, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--home", type=Path, help="keep the world's data and logs in this folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="throughline-func-") as folder:
        program = stand_in(Path(folder))
        with World(home=options.home or Path(folder) / "world", usual_ports=False, func=program) as world:
            result = send_slowly(world, options.events, rate=options.rate, seed=options.seed)
    sys.stdout.write(
        f"{result.events:,} events, {result.published:,} published {result.seconds:.1f} s after the last "
        f"(goal: {SOON:.0f} s)\n"
    )
    return 0 if result.published == result.events else 1


if __name__ == "__main__":
    sys.exit(main())
