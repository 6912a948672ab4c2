"""`python -m tests.func_delivery`: send events to a world under a stand-in for `func`; measure when all are published.

python -m tests.func_delivery                     2,000 events at 10 a second
python -m tests.func_delivery --without-notices   the same without Event Grid: what func's polling misses is late
"""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.func_delivery import SOON, send_slowly, stand_in
from throughline.local.host.blobs.delivery import EMULATOR, EVENT_GRID
from throughline.local.world import World


def main() -> int:
    """Run the command line; return 0 when all events were published in time, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.func_delivery", description=__doc__)
    parser.add_argument("--events", type=int, default=2000)
    parser.add_argument("--rate", type=float, default=10.0, help="events a second, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--without-notices", action="store_true")
    parser.add_argument("--home", type=Path, help="keep the world's data and logs in this folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="throughline-func-") as folder:
        program = stand_in(Path(folder))
        delivery = EMULATOR if options.without_notices else EVENT_GRID
        with World(
            home=options.home or Path(folder) / "world", usual_ports=False, func=program, delivery=delivery
        ) as world:
            seen = send_slowly(world, options.events, rate=options.rate, seed=options.seed)
    sys.stdout.write(
        f"{seen.events:,} events, {seen.published:,} published {seen.seconds:.1f} s after the last "
        f"(goal: {SOON:.0f} s); the host's own polling missed {seen.missed:,} blobs\n"
    )
    return 0 if seen.published == seen.events else 1


if __name__ == "__main__":
    sys.exit(main())
