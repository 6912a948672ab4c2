"""`python -m tests.faults.planted`: plant mistakes, and see that a history or an interleaving finds each.

A mistake is a change of a few lines of source. Each is looked for by its own searches, cheapest first: `interleavings`
of a case, or `seeds`. A mistake that nothing finds, or whose source is no longer there, fails the command.

python -m tests.faults.planted                     all mistakes
python -m tests.faults.planted --mistake NAME      one of them; may be repeated
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.overlay import changed, overlay, run

_LONGEST_SEARCH = 1200.0
"""Seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """A mistake: in `file`, `original` (which is there once) becomes `mistaken`. The interleavings of `cases` are
    explored with at most so many `switches`; then `seeds` from the first up to the second are simulated.
    """

    name: str
    file: str
    original: str
    mistaken: str
    cases: tuple[str, ...] = ()
    switches: int = 2
    seeds: tuple[int, int] = (0, 0)

    def source(self, home: Path) -> str:
        """The file with the mistake. Raises ValueError where the place is not found, or found twice."""
        text = (home / self.file).read_text()
        if text.count(self.original) != 1:
            raise ValueError(f"{self.name}: its place is there {text.count(self.original)} times in {self.file}")
        return text.replace(self.original, self.mistaken)

    def searches(self) -> list[tuple[str, ...]]:
        """The commands that look for it."""
        commands: list[tuple[str, ...]] = [
            ("tests.faults.interleavings", "--case", case, "--switches", str(self.switches)) for case in self.cases
        ]
        first, end = map(str, self.seeds)
        return [*commands, ("tests.faults", "--seeds", first, end, "--stop")] if first != end else commands


MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        name="a run's state is written whoever has changed it",
        file="shared/processing/contribution_writes.py",
        original="    etag = storage.replace(RUNS, state.row(storage))\n",
        mistaken="    etag = storage.upsert(RUNS, state.row(storage))\n",
        seeds=(140, 400),
    ),
    Mistake(
        name="an entry is dequeued although it was enqueued again",
        file="shared/records/publish_queue.py",
        original="        return storage.delete(PUBLISH_QUEUE, QUEUE_PARTITION, entry.process, entry.etag)\n",
        mistaken="        return storage.delete(PUBLISH_QUEUE, QUEUE_PARTITION, entry.process)\n",
        cases=("two runs of an application",),
        seeds=(0, 400),
    ),
    Mistake(
        name="the context of a run is not read again after its contributions are written",
        file="shared/processing/processor.py",
        original="if context_of(storage, run, spread.known, decided.context.names) != decided.context:\n",
        mistaken="if False:\n",
        cases=("a fact that is known late", "two runs of an application"),
        seeds=(0, 400),
    ),
    Mistake(
        name="status does not ask what staging elimination left of a process",
        file="shared/reporting/run_outcomes.py",
        original="        if not processes.written.isdisjoint(now):\n",
        mistaken="        if not processes.written.isdisjoint(own):\n",
        seeds=(0, 400),
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0 when each mistake was found, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults.planted",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [mistake.name for mistake in MISTAKES]
    parser.add_argument("--mistake", choices=names, action="append", help="only this one; may be repeated")
    chosen = parser.parse_args(arguments).mistake
    missed = 0
    with overlay("shared") as home:
        for mistake in MISTAKES:
            if not chosen or mistake.name in chosen:
                missed += not _is_found(home, mistake)
    return 1 if missed else 0


def _is_found(home: Path, mistake: Mistake) -> bool:
    began = time.monotonic()
    with changed(home, {mistake.file: mistake.source(home)}):
        for search in mistake.searches():
            code, output = run(home, *search, seconds=_LONGEST_SEARCH)
            if code == 0:
                continue
            if code != 1 or not ("\nseed " in output or "\n  wrong: " in output):
                raise RuntimeError(f"{mistake.name}: python -m {' '.join(search)} ended with {code}:\n{output[-2000:]}")
            _print(f"{mistake.name}: found by {' '.join(search[1:])}: {_what(output)} ({_since(began)})")
            return True
    _print(f"{mistake.name}: NOT FOUND by {len(mistake.searches())} searches ({_since(began)})")
    return False


def _since(began: float) -> str:
    return f"{time.monotonic() - began:.0f} s"


def _what(output: str) -> str:
    """The line that says what is wrong."""
    lines = (line.strip() for line in output.splitlines())
    return next(line for line in lines if line.startswith(("seed ", "wrong: ")))[:160]


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
