"""`python -m tests.faults.planted`: plant mistakes, and see that a history or an interleaving finds each.

A mistake is a change of a few lines of source. Each is looked for by its own searches, cheapest first: `tests`,
`interleavings` of a case, or `seeds`. A mistake that nothing finds, or whose source is no longer there, fails the
command.

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
    """A mistake: in `file`, `original` (which is there once) becomes `mistaken`. `tests` are run; all interleavings of
    `cases` are explored; `seeds` from the first up to the second are simulated.
    """

    name: str
    file: str
    original: str
    mistaken: str
    tests: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
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
            ("pytest", "-x", "-q", "-p", "no:cacheprovider", file) for file in self.tests
        ]
        commands += [("tests.faults.interleavings", "--case", case) for case in self.cases]
        first, end = map(str, self.seeds)
        return [*commands, ("tests.faults", "--seeds", first, end, "--stop")] if first != end else commands


_FOLD, _PROCESSOR = "shared/applications/fold.py", "shared/applications/processor.py"
_DRAFT = "shared/applications/draft.py"
_PARTITION, _REUNION = "shared/applications/partition.py", "shared/applications/delivery.py"
_PLANNING, _HEADERS = "shared/publishing/planning.py", "shared/publishing/headers.py"
_CLOSING, _FORGETTING = "shared/sweeping/closing.py", "shared/sweeping/forgetting.py"
_SWEEP, _QUEUE = "shared/sweeping/sweep.py", "shared/records/publish_queue.py"
_OUTCOMES, _PUBLISHER = "shared/publishing/outcomes.py", "shared/publishing/publisher.py"

MISTAKES: tuple[Mistake, ...] = (
    # --- the commit
    Mistake(
        name="a header is written whoever has changed it",
        file=_PARTITION,
        original="[Operation(kind=OperationKind.REPLACE if snapshot.etag else OperationKind.INSERT, row=header.row)]",
        mistaken="[Operation(kind=OperationKind.UPSERT, row=header.row)]",
        cases=("a late failure beside another run",),
    ),
    Mistake(
        name="the record of a run that was taken for new replaces another one",
        file=_PARTITION,
        original="kind=OperationKind.INSERT if run_id in new else OperationKind.UPSERT,",
        mistaken="kind=OperationKind.UPSERT,",
        cases=("a sender that gives up", "a late failure"),
        seeds=(0, 400),
    ),
    Mistake(
        name="a refused commit is repeated without reading records",
        file=_PROCESSOR,
        original="        self.read_records, self.rereads = {}, True\n",
        mistaken="        self.read_records = {}\n",
        tests=("tests/shared/sweeping/test_sweep.py",),
    ),
    Mistake(
        name="a run that is folded again keeps what it said before",
        file=_FOLD,
        original="            draft.take_out(run_id, run.record)\n",
        mistaken="            pass\n",
        cases=("a late failure",),
    ),
    Mistake(
        name="runs are not translated again when facts of their application become known",
        file=_FOLD,
        original="{run_id for run_id, run in all_records().items() if not (run.home or run.closed)}",
        mistaken="set()",
        cases=("a fact that is known late",),
    ),
    Mistake(
        name="runs that are to be translated again are forgotten after the first commit",
        file=_PROCESSOR,
        original="run_ids_to_fold = (self.ended | self.pending | set(snapshot.state.stale)) - self.homes.keys()",
        mistaken="run_ids_to_fold = (self.ended | self.pending) - self.homes.keys()",
        tests=("tests/shared/applications",),
    ),
    Mistake(
        name="the processes of an application are not published again when it ends",
        file=_DRAFT,
        original="            contents = (*changed, *(self.contents.values() if own_times else ()))\n",
        mistaken="            contents = (*changed,)\n",
        seeds=(0, 400),
    ),
    # --- plans without a run of the listener
    Mistake(
        name="a plan is joined to no run that was folded before it",
        file=_DRAFT,
        original="                runs |= of_others | of_runs\n",
        mistaken="                runs |= of_runs\n",
        cases=("a plan alone beside the listener's run",),
        seeds=(0, 400),
    ),
    Mistake(
        name="a run that ends with a plan alone, which was folded before it, does not get the plan",
        file=_DRAFT,
        original="                any(other_execution_ends[run_id].is_plan for run_id in of_others)\n",
        mistaken="                False\n",
        cases=("a plan alone beside the listener's run",),
        seeds=(0, 400),
    ),
    Mistake(
        name="a plan counts with the listener's run, and as a run of its own",
        file=_FOLD,
        original="merged.pop(plan)",
        mistaken="merged[plan]",
        cases=("a plan alone beside the listener's run",),
        seeds=(0, 400),
    ),
    Mistake(
        name="a run whose plan has gone to another one keeps it",
        file=_DRAFT,
        original="                or any(former[run_id].is_plan for run_id in of_former)\n",
        mistaken="",
        tests=("tests/shared/applications/test_fold.py",),
    ),
    Mistake(
        name="a plan's run is closed before the run with which it counts",
        file=_CLOSING,
        original="        if run and not run.closed:  # its plan",
        mistaken="        if False:  # its plan",
        tests=("tests/shared/sweeping/test_closing.py",),
    ),
    # --- marks and the fence
    Mistake(
        name="marks are left after the commit",
        file=_PROCESSOR,
        original="""        self.processor.leave_marks(application, version, targets, since=since)
        if not commit.execute(storage, self.processor.memory):
            self._start_over()
            return False
""",
        mistaken="""        if not commit.execute(storage, self.processor.memory):
            self._start_over()
            return False
        self.processor.leave_marks(application, version, targets, since=since)
""",
        cases=("a sweep beside a worker",),
    ),
    Mistake(
        name="a mark is consumed before its header is there",
        file=_HEADERS,
        original="        return self.context.publishing.now() - mark.left >= PATIENCE and self._fence(mark)\n",
        mistaken="        return True\n",
        cases=("a sweep beside a worker",),
    ),
    Mistake(
        name="a mark whose commit never comes is waited for without an end",
        file=_HEADERS,
        original="        return self.context.publishing.now() - mark.left >= PATIENCE and self._fence(mark)\n",
        mistaken="        return False\n",
        tests=("tests/shared/publishing/test_pulling.py",),
    ),
    Mistake(
        name="a mark in flight is given up although its commit may still come",
        file=_HEADERS,
        original=" and self._fence(mark)\n",
        mistaken="\n",
        cases=("a commit that was lost, and its mark",),
    ),
    Mistake(
        name="the fence replaces a header whoever has changed it",
        file=_HEADERS,
        original="        return storage.replace(APPLICATIONS, rows.with_version(row, mark.version)) is not None\n",
        mistaken="        return bool(storage.upsert(APPLICATIONS, rows.with_version(row, mark.version)))\n",
        cases=("a commit that was lost, and its mark",),
    ),
    Mistake(
        name="an entry is taken off the queue although it was enqueued again",
        file=_OUTCOMES,
        original="            operations.append(deletion(row))\n",
        mistaken='            operations.append(deletion(replace(row, etag="")))\n',
        tests=("tests/shared/records/test_publish_queue.py",),
    ),
    Mistake(
        name="what is looked at again is lost where another publisher took the entry off",
        file=_OUTCOMES,
        original="            elif is_refused:\n",
        mistaken="            elif False:\n",
        tests=("tests/shared/records/test_publish_queue.py",),
    ),
    Mistake(
        name="a publisher writes the ledger whoever has changed it",
        file=_PLANNING,
        original="        kind = OperationKind.REPLACE if entry.etag else OperationKind.INSERT\n",
        mistaken="        kind = OperationKind.UPSERT\n",
        tests=("tests/shared/publishing/test_publisher.py",),
    ),
    Mistake(
        name="an older part is kept although the application has committed since",
        file=_PLANNING,
        original="            if stored is None or stored.version < version:\n",
        mistaken="            if stored is None:\n",
        cases=("a late failure", "two runs of an application"),
    ),
    # --- runs of several applications
    Mistake(
        name="an application below a task does not know its own times",
        file=_REUNION,
        original="    is_candidate = record is not None and not record.home and record.reason == NO_DATA_SET\n",
        mistaken="    is_candidate = False\n",
        tests=("tests/shared/sweeping/test_sweep.py",),
    ),
    Mistake(
        name="a sweep does not reunite the runs of several applications",
        file=_SWEEP,
        original="{run_id for run_id in places if self._is_split(run_id, places[run_id])}",
        mistaken="set[str]()",
        cases=("a run of two applications",),
    ),
    Mistake(
        name="an application keeps what a run said that belongs to another one",
        file=_REUNION,
        original="    outcomes += [work.refer(application, home) for application in sorted(referring - {home})]\n",
        mistaken="",
        seeds=(0, 400),
    ),
    # --- the two ends of a run
    Mistake(
        name="a process is written between the two ends of a run",
        file=_PUBLISHER,
        original="            elif plan.awaits and (not plan.unchanged or kept_entry(plan)):\n",
        mistaken="            elif False:\n",
        tests=("tests/shared/publishing/test_awaited_ends.py",),
    ),
    Mistake(
        name="the second end of a run is waited for without an end",
        file=_PLANNING,
        original="    return until if now < until else None\n",
        mistaken="    return until\n",
        tests=("tests/shared/publishing/test_awaited_ends.py",),
    ),
    Mistake(
        name="a second end that changes no content does not end the wait",
        file=_FOLD,
        original="frozenset(processes | draft.ended_again)",
        mistaken="frozenset(processes)",
        tests=("tests/shared/publishing/test_awaited_ends.py",),
    ),
    Mistake(
        name="an end that never came is waited for again",
        file=_PLANNING,
        original="had_both_ends=has_both_ends or awaits is not None",
        mistaken="had_both_ends=has_both_ends or rows.entry.had_both_ends",
        tests=("tests/shared/publishing/test_awaited_ends.py",),
    ),
    # --- closing and forgetting
    Mistake(
        name="a run is closed although events of it are not folded",
        file=_CLOSING,
        original="not (snapshot.state.stale or _has_late_events(snapshot))",
        mistaken="not snapshot.state.stale",
        tests=("tests/shared/sweeping/test_closing.py",),
    ),
    Mistake(
        name="a run is closed before its processes are published",
        file=_CLOSING,
        original="        if not self._in_progress().isdisjoint(processes | stand_in_processes):\n",
        mistaken="        if False:\n",
        tests=("tests/shared/sweeping/test_closing.py",),
    ),
    Mistake(
        name="runs are closed whoever has changed their application",
        file=_CLOSING,
        original="    return Commit.of(storage, snapshot, state, closing).execute(storage)\n",
        mistaken="    latest = read_whole(storage, snapshot.application)\n"
        "    return Commit.of(storage, latest, state, closing).execute(storage)\n",
        cases=("closing beside a new run", "closing beside a late event"),
    ),
    Mistake(
        name="an event that came after its run was closed changes it",
        file=_FOLD,
        original="        if previous.closed and not run.home:\n",
        mistaken="        if False:\n",
        cases=("closing beside a late event",),
    ),
    Mistake(
        name="a run is closed although events of it in another application are not reunited",
        file=_CLOSING,
        original="        return self._is_reunited(record.run_id, snapshot.application)\n",
        mistaken="        return True\n",
        tests=("tests/shared/sweeping/test_closing.py",),
    ),
    Mistake(
        name="an event is archived although its run is open",
        file=_CLOSING,
        original="outcome = record.outcome if record and record.closed else ",
        mistaken="outcome = record.outcome if record else ",
        tests=("tests/shared/sweeping/test_closing.py",),
    ),
    Mistake(
        name="events of another writer of the same file are not counted",
        file="shared/events/archive_writer.py",
        original=" if file != batch.file)\n",
        mistaken=")\n",
        cases=("two sweepers that archive",),
    ),
    Mistake(
        name="a part is forgotten although the application that supersedes it may still fail",
        file=_PLANNING,
        original="        if part.closed and not is_superseded:\n",
        mistaken="        if not is_superseded:\n",
        cases=("an older application that comes back",),
    ),
    Mistake(
        name="a part that goes because a later one repeats it leaves what it superseded",
        file=_PLANNING,
        original="        if part.closed and not is_superseded:\n",
        mistaken="        if part.closed and not (is_superseded or is_repeated):\n",
        tests=("tests/shared/publishing/test_forgetting.py",),
    ),
    Mistake(
        name="what a run contributed goes with its record",
        file=_FORGETTING,
        original="                contents[digest] = contents[digest].anonymous(run_id)\n",
        mistaken="                del contents[digest]\n",
        cases=("runs that are forgotten beside a new run",),
    ),
    Mistake(
        name="records are forgotten whoever has changed their application",
        file=_FORGETTING,
        original="if Commit.of(storage, snapshot, state,",
        mistaken="if Commit.of(storage, read_whole(storage, application), state,",
        cases=("runs that are forgotten beside a new run",),
    ),
    Mistake(
        name="a header goes although its application has come back",
        file=_FORGETTING,
        original='etag=snapshot.etag if key == HEADER else "")',
        mistaken='etag="")',
        cases=("an application that is forgotten beside a new run",),
    ),
    Mistake(
        name="an event is missed whose application failed when it was overdue",
        file="shared/sweeping/listing.py",
        original=" or event.application in self.unfinished\n",
        mistaken="\n",
        tests=("tests/shared/sweeping/test_sweep.py",),
    ),
    Mistake(
        name="closed runs are not looked at again where the sweeper dies",
        file=_CLOSING,
        original="            self._forget_later(application)  # first",
        mistaken="            pass  # first",
        tests=("tests/shared/sweeping/test_closing.py",),
    ),
    Mistake(
        name="a publisher that lost its lease while it read goes on",
        file="shared/publishing/publisher.py",
        original="        if not self._session.may_continue():  # another",
        mistaken="        if False:  # another",
        tests=("tests/shared/publishing/test_crashes.py",),
    ),
    # --- the publisher's cache, and dead letters
    Mistake(
        name="what another publisher wrote of a data set that it put off is not read",
        file="shared/publishing/publisher.py",
        original="        rows.refresh(self._storage, [entry.key for entry in entries if entry.etag])\n",
        mistaken="",
        tests=("tests/shared/publishing/test_crashes.py",),
    ),
    Mistake(
        name="a run that can be used after all keeps its dead letters",
        file=_PROCESSOR,
        original="        self._withdraw_letters(folded, runs)\n",
        mistaken="",
        tests=("tests/shared/applications/test_delivery.py",),
    ),
    Mistake(
        name="a slow worker's letter of a run that another one can use counts",
        file="shared/reporting/run_report.py",
        original="letter.reason == UNUSABLE and is_used",
        mistaken="False",
        tests=("tests/shared/sweeping/test_closing.py",),
    ),
    Mistake(
        name="a slow worker's letter of a run that another one can use stays",
        file=_CLOSING,
        original="        self._withdraw_letters(records)\n",
        mistaken="",
        tests=("tests/shared/sweeping/test_closing.py",),
    ),
    # --- reports
    Mistake(
        name="status does not ask what staging elimination left of a process",
        file="shared/reporting/run_report.py",
        original="    if not processes.written.isdisjoint(run.standing):\n",
        mistaken="    if not processes.written.isdisjoint(run.processes):\n",
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
    mistake_names = parser.parse_args(arguments).mistake
    missed = 0
    with overlay("shared") as home:
        for mistake in MISTAKES:
            if not mistake_names or mistake.name in mistake_names:
                missed += not _is_found(home, mistake)
    return 1 if missed else 0


def _is_found(home: Path, mistake: Mistake) -> bool:
    began = time.monotonic()
    with changed(home, {mistake.file: mistake.source(home)}):
        for search in mistake.searches():
            code, output = run(home, *search, seconds=_LONGEST_SEARCH)
            if code == 0:
                continue
            if code != 1 or not _what(output):
                raise RuntimeError(f"{mistake.name}: python -m {' '.join(search)} ended with {code}:\n{output[-2000:]}")
            _print(f"{mistake.name}: found by {' '.join(search)}: {_what(output)} ({_since(began)})")
            return True
    _print(f"{mistake.name}: NOT FOUND by {len(mistake.searches())} searches ({_since(began)})")
    return False


def _since(began: float) -> str:
    return f"{time.monotonic() - began:.0f} s"


def _what(output: str) -> str:
    """The line that says what is wrong; empty where none does."""
    lines = (line.strip() for line in output.splitlines())
    return next((line for line in lines if line.startswith(("seed ", "wrong: ", "FAILED "))), "")[:160]


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
