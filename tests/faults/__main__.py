"""`python -m tests.faults`: simulate seeded histories with failing storage and catalog, and check how they end.

python -m tests.faults --seconds 600       ten minutes, from a seed of its own (printed)
python -m tests.faults --seeds 0 2000      these 2,000 histories
python -m tests.faults --seed 7            one history again, exactly
python -m tests.faults --seed 7 --trace    … with a trace of every call
python -m tests.faults --seeds 0 2000 --stop   … up to the first that ends wrong
python -m tests.faults --seeds 0 2000 --delivery polling   … with one way of delivery instead of a random one
"""

import argparse
import logging
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence

from tests.faults.delivery import NAMES, Name
from tests.faults.fault_injection import no_trace
from tests.faults.generated_events import history_of
from tests.faults.hunt import scenario_of, simulate


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0 when all histories ended as expected, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    seed_options = parser.add_mutually_exclusive_group()
    seed_options.add_argument("--seed", type=int, help="one history")
    seed_options.add_argument("--seeds", type=int, nargs=2, metavar=("FIRST", "BEFORE"), help="these histories")
    parser.add_argument("--seconds", type=float, help="start no further history after this many seconds")
    parser.add_argument("--delivery", choices=NAMES, help="the one way in which the host finds blobs")
    parser.add_argument("--stop", action="store_true", help="end with the first history that ends wrong")
    parser.add_argument("--trace", action="store_true", help="print every call")
    options = parser.parse_args(arguments)
    if options.seed is not None:
        first, end_seed = options.seed, options.seed + 1
        _print(str(scenario_of(first, options.delivery)))
    else:
        first, end_seed = options.seeds or (random.randrange(10**6) * 1000, None)
        _print(f"from seed {first}")
    seconds = options.seconds or (float("inf") if end_seed else 600)
    return hunt(first, end_seed, seconds, trace=options.trace, delivery=options.delivery, stop=options.stop)


def hunt(
    first: int,
    end_seed: int | None,
    seconds: float,
    *,
    trace: bool = False,
    delivery: Name | None = None,
    stop: bool = False,
) -> int:
    """Simulate the histories of these seeds; print each failure at once, and figures at the end."""
    began, failed, fault_counts, seed = time.monotonic(), 0, Counter[str](), first
    ways, kinds_met = Counter[str](), Counter[str]()
    fixed = f" --delivery {delivery}" if delivery else ""
    calls = poisoned = 0
    while (end_seed is None or seed < end_seed) and time.monotonic() - began < seconds:
        try:
            outcome, wrong = simulate(seed, _print if trace else no_trace, delivery)
        except KeyboardInterrupt:
            break
        fault_counts += outcome.faults.met
        ways[scenario_of(seed, delivery).delivery] += 1
        kinds_met += history_of(seed).kinds
        calls += outcome.faults.calls
        poisoned += outcome.poisoned
        if wrong:
            failed += 1
            _print(f"seed {seed}: {'; '.join(wrong)}\n  again with: python -m tests.faults --seed {seed}{fixed}")
        seed += 1
        if wrong and stop:
            break
    spent = time.monotonic() - began
    histories = seed - first
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in fault_counts.most_common())
    by_way = ", ".join(f"{ways[name]:,} by {name}" for name in NAMES if ways[name])
    _print(f"{histories:,} histories ({by_way}), {calls:,} calls ({kinds}; {poisoned:,} poisoned) in {spent:.0f} s:")
    _print("; ".join(f"{count:,} {kind}" for kind, count in kinds_met.most_common()))
    _print(f"{histories / spent:.1f} histories and {calls / spent:,.0f} calls a second; {failed} ended wrong")
    return 1 if failed else 0


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    logging.disable()
    sys.exit(main())
