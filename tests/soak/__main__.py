"""`python -m tests.soak`: kill the parts of a real local world while events are sent, and check that nothing is lost.

python -m tests.soak                        100 rounds, with a random seed (printed)
python -m tests.soak --rounds 5 --seed 7    five rounds with the same failures
python -m tests.soak --home FOLDER          keep the world's data there for inspection
"""

import argparse
import logging
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.soak.siege import Siege, differences, settle_down
from throughline.cli.ui.console import err, out, progress_bar
from throughline.local.world import World


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0 when nothing was lost or doubled, else 1, and 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument(
        "--outage",
        type=float,
        default=150.0,
        help="seconds for which the catalog is unavailable from the middle on (150)",
    )
    parser.add_argument("--home", type=Path, help="a folder that does not exist yet")
    options = parser.parse_args(arguments)
    if options.home and options.home.exists():
        parser.error(f"{options.home} exists: name a new folder, so that no other world has its data there")
    logging.basicConfig(format="%(message)s", level=logging.ERROR)
    out.print(f"seed {options.seed}")
    with tempfile.TemporaryDirectory(prefix="throughline-soak-") as scratch:
        try:
            return soak(options.home or Path(scratch) / "world", options.rounds, options.seed, options.outage)
        except KeyboardInterrupt:
            err.print("stopped; the world has ended")
            return 130


def soak(home: Path, rounds: int, seed: int, outage: float) -> int:
    """Run the rounds and the final check, and print them."""
    with World(home=home, usual_ports=False) as world:
        siege = Siege(world=world, seed=seed, outage=outage)
        with progress_bar() as bar:
            task = bar.add_task("rounds", total=rounds)
            for _ in siege.rounds(rounds):
                bar.update(task, advance=1)
            rest_task = bar.add_task("coming to rest", total=None)
            siege.tally.undelivered = settle_down(
                world, seconds=900, tell=lambda line: bar.update(rest_task, description=line)
            )
        wrong = differences(world, siege.sent)
        tally = siege.tally
        outages = ", ".join(f"{service} away {count} times" for service, count in tally.outages.items())
        killed = f"the functions were killed {tally.killed} times{', ' if outages else ''}{outages}"
        out.print(
            f"the catalog was unavailable for {outage:.0f} s meanwhile; {killed}; {tally.events:,} events of "
            f"{tally.applications} applications in {tally.seconds:.0f} s, {tally.resent} of them sent more than once; "
            f"{tally.undelivered} runs were left to the sweeper"
        )
        for sentence in wrong:
            err.print(f"[bold red]wrong:[/] {sentence}", markup=True)
        out.print("nothing lost, nothing twice" if not wrong else "something is wrong: see above")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
