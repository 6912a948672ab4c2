"""`python -m tests.fuzz`: damage captured events at random, and find damage that the core does not withstand.

python -m tests.fuzz --seconds 600          ten minutes, with a random seed (printed)
python -m tests.fuzz --seed 7 --seconds 60  the same cases again
python -m tests.fuzz --replay FILE          one failure again, with its whole traceback
python -m tests.fuzz --permute 10000        no damage: reorder, repeat and split real runs
"""

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.bench.figures import ROOT
from tests.fuzz.hunt import WAYS, hunt, permute, replay


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0 when no case failed, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "fuzz", help="the folder for what fails")
    parser.add_argument("--replay", type=Path, metavar="FILE")
    parser.add_argument("--permute", type=int, metavar="TIMES")
    options = parser.parse_args(arguments)
    if options.replay:
        replay(options.replay)
        _say("it holds")
        return 0
    _say(f"seed {options.seed}")
    if options.permute:
        _say(f"{permute(options.seed, times=options.permute)}: all give identical entities")
        return 0
    bag = hunt(options.seed, seconds=options.seconds, out=options.out, ways=options.ways)
    _say(str(bag))
    for path in bag.failures:
        _say(f"  again with: python -m tests.fuzz --replay {path}")
    return 1 if bag.failures else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
