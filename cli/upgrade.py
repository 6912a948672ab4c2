"""`throughline upgrade`: have what an older Throughline wrote go by the names of this one."""

from typing import Annotated, Any

import typer

from cli.console import fail, note, out, plain, print_json, progress_bar
from cli.deadletter import quiet, tell_published
from cli.leaving import Most, counted, one_sentence
from cli.letters import visible
from cli.stopping import INTERRUPTED, stopping
from cli.target import HOME, Home, parts_of
from shared import pipeline
from shared.bootstrap import Worker
from shared.errors import Misconfigured
from shared.pipeline import Move, Versions


def upgrade(
    context: typer.Context,
    *,
    plan: Annotated[bool, typer.Option("--plan", help="Only say what would be moved")] = False,
    most: Most = 50,
    as_json: Annotated[bool, typer.Option("--json", help="The machine-readable form of --plan")] = False,
    home: Home = HOME,
) -> None:
    """Have processes that an older version named go by their present names.

    The runs behind them are settled again and published; an old process is removed once the new one is written. A
    process none of whose events is stored any more stays as it is until a new run writes it. Ctrl-C stops after the
    process at hand; another upgrade goes on.

    \b
    throughline upgrade --plan
    throughline upgrade
    """  # noqa: D301 - \b keeps the lines of the examples apart
    if as_json and not plan:
        fail("--json is for --plan", code=2)
    quiet()
    parts = parts_of(context, home, writes=not plan)
    with one_sentence():
        written = pipeline.written_with(parts.storage) or Versions()
        now = Versions(naming=parts.names.version)
        try:
            pipeline.mismatch(written, now)
        except Misconfigured as problem:
            fail(str(problem), code=2)
        found = _look(parts)
        if as_json:
            print_json(_document(written, now, found))
            return
        _tell(written, now, found, most)
        if not plan:
            _upgrade(parts, now, len(found))


def _look(parts: Worker) -> list[Move]:
    with progress_bar(transient=True) as progress:
        task = progress.add_task("looking", total=None)
        found = []
        for move in pipeline.moves(parts.storage, parts.names):
            found.append(move)
            progress.advance(task)
    return found


def _tell(written: Versions, now: Versions, found: list[Move], most: int) -> None:
    stay = [move for move in found if move.stays]
    out.print(f"written by {written}; this version writes {now}")
    out.print(f"{counted(len(found) - len(stay), 'process')} to move, {len(stay):,} that can't be moved")
    for move in found[: most or None]:
        out.print(f"  {plain(visible(move.old))}")
        for name in move.new:
            out.print(f"    → {plain(visible(name))}")
        if move.stays:
            out.print("    [yellow]stays until a new run writes it: its events are not stored any more[/]")
    if most and len(found) > most:
        out.print(f"  … and {len(found) - most:,} more (--most)")


def _upgrade(parts: Worker, now: Versions, total: int) -> None:
    moved = stayed = 0
    with stopping() as stop, progress_bar(transient=True) as progress:
        task = progress.add_task("moving", total=total)
        for move in pipeline.upgrade(parts.storage, parts.names):
            stayed += move.stays
            moved += not move.stays
            progress.advance(task)
            if stop.is_set():
                break
    out.print(f"{counted(moved, 'process')} moved")
    if stop.is_set():
        note("stopped", "what was moved is published as usual; `throughline upgrade` goes on with the rest")
        raise typer.Exit(INTERRUPTED)
    published = tell_published(parts)
    if stayed:
        note("stay", f"{stayed:,} processes keep their old names until a new run writes them: `--plan` lists them")
    pipeline.note_versions(parts.storage, now)
    if not published:
        raise typer.Exit(1)


def _document(written: Versions, now: Versions, found: list[Move]) -> dict[str, Any]:
    return {
        "written": {"naming": written.naming, "layout": written.layout},
        "now": {"naming": now.naming, "layout": now.layout},
        "moves": [{"old": move.old, "new": list(move.new), "runs": move.runs} for move in found],
    }
