"""`throughline deadletter`: events that can't be used, why, and what is to become of them."""

import heapq
import logging
from collections import Counter
from datetime import datetime
from typing import Annotated, NoReturn

import typer
from rich.text import Text

from cli.context.target import HOME, Home, away, parts_of
from cli.ui.console import fail, note, out, print_json, progress_bar
from cli.ui.dead_letters import SHORT, as_document, in_lines, pretty, times, unpacked, visible
from shared.bootstrap import Worker
from shared.errors import StorageUnavailable, WriteConflict
from shared.events.archive_index import stored_packed
from shared.events.dead_letters import DeadLetter, dead_letters
from shared.events.dead_letters import discard as events_discard
from shared.maintenance.replay import LetterOutcome, ReplayedLetter, publish_all, replay_dead_letters
from shared.storage.port import Storage

app = typer.Typer(
    help="Events that can't be used: why, and what is to become of them.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

_SHORTEST = 4
_MOST_CANDIDATES = 5
_HEXADECIMAL = frozenset("0123456789abcdef")

Reason = Annotated[str, typer.Option(help="Only those whose reason or error has this in it")]
Ids = Annotated[list[str], typer.Argument(metavar="ID…", help="Ids as `list` shows them, or as short as is unique")]


@app.command("list")
def list_letters(
    context: typer.Context,
    *,
    reason: Reason = "",
    discarded: Annotated[bool, typer.Option("--discarded", help="Those that were discarded instead")] = False,
    most: Annotated[int, typer.Option(min=0, help="How many, those met last first; 0 for all")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="The machine-readable form")] = False,
    home: Home = HOME,
) -> None:
    """List dead letters, those met last first, and count them by reason.

    \b
    throughline deadletter list
    throughline deadletter list --reason 'damaged' --json | jq '.dead_letters[].id'
    """  # noqa: D301 - \b keeps the lines of the examples apart
    count: Counter[str] = Counter()
    storage = parts_of(context, home).storage

    def counted(letter: DeadLetter) -> bool:
        chosen = bool(letter.discarded) == discarded and _fits(letter, reason)
        count[letter.reason] += chosen
        return chosen

    try:
        chosen = (letter for letter in dead_letters(storage) if counted(letter))
        shown = sorted(chosen, key=_when, reverse=True) if most == 0 else heapq.nlargest(most, chosen, key=_when)
    except StorageUnavailable as error:
        _storage_away(error)
    by_reason = {name: number for name, number in sorted(count.items(), key=lambda each: (-each[1], each[0])) if number}
    if as_json:
        letters = [as_document(letter) for letter in shown]
        print_json({"dead_letters": letters, "count": count.total(), "by_reason": by_reason})
        return
    for letter in shown:
        out.print(in_lines(letter))
    what = "discarded" if discarded else "dead letters" if count.total() != 1 else "dead letter"
    reasons = ", ".join(f"{number:,} {reason}" for reason, number in by_reason.items())
    left_off = f"; {count.total() - len(shown):,} not shown (--most)" if count.total() > len(shown) else ""
    out.print(f"{count.total():,} {what}{': ' if reasons else ''}{reasons}{left_off}")


@app.command()
def show(
    context: typer.Context,
    letter_id: Annotated[str, typer.Argument(metavar="ID", help="Its id, or as much of it as is unique")],
    *,
    home: Home = HOME,
) -> None:
    """Show a dead letter: what stands in the way, and the event's text as far as it can be read.

    What a terminal might obey is shown as an escape.
    """
    storage = parts_of(context, home).storage
    try:
        letter = _found(storage, letter_id)
        packed = stored_packed(storage, letter.blob)
    except StorageUnavailable as error:
        _storage_away(error)
    for name, value in as_document(letter).items():
        if value is not None:
            out.print(Text.assemble((f"{name.replace('_', ' '):<12}", "bold"), visible(value)))
    if packed is None:
        note("blob", "it is not in the container events any more")
        return
    data, trouble = unpacked(packed)
    if trouble:
        note("bytes", trouble)
    out.print()
    out.print(Text(pretty(data)))


@app.command()
def replay(
    context: typer.Context,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID…", help="Ids, or as short as is unique")] = None,
    *,
    everything: Annotated[bool, typer.Option("--all", help="All dead letters that were not discarded")] = False,
    reason: Reason = "",
    home: Home = HOME,
) -> None:
    """Settle the runs of dead letters anew, then publish. A letter leaves once its event was used.

    A letter that fails again stays, with its new error and a higher count. All letters of a run are replayed together.
    Exit code 1 when one is left, or the catalog is away.

    \b
    throughline deadletter replay 3f2a
    throughline deadletter replay --reason 'unusable run'
    """  # noqa: D301 - \b keeps the lines of the examples apart
    if bool(ids) + everything + bool(reason and not everything) != 1:
        fail("say which: ids, or --all, or --reason TEXT", code=2)
    quiet()
    parts = parts_of(context, home, writes=True)
    outcomes: Counter[LetterOutcome] = Counter()
    try:
        chosen = {_found(parts.storage, each).digest for each in ids or ()}
        with progress_bar(transient=True) as progress:
            task = progress.add_task("replaying", total=None)
            for replayed in replay_dead_letters(
                parts.storage,
                lambda each: each.digest in chosen if ids else not each.discarded and _fits(each, reason),
                names=parts.names,
            ):
                progress.advance(task)
                outcomes[replayed.outcome] += 1
                tell_letter(replayed)
        out.print(", ".join(f"{number:,} {outcome}" for outcome, number in outcomes.items()) or "nothing to replay")
        published = tell_published(parts)
    except StorageUnavailable as error:
        fail(f"{error}. What has not been used yet still is a dead letter: replay it again once storage answers")
    if not published or set(outcomes) - {LetterOutcome.USED, LetterOutcome.GONE}:
        raise typer.Exit(1)


@app.command()
def discard(
    context: typer.Context,
    ids: Ids,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without it only say what would be done")] = False,
    home: Home = HOME,
) -> None:
    """Give events up that can't be used: they count as skipped (discarded). Their blobs stay.

    `deadletter replay ID` brings one back, if it can be used by then.

    \b
    throughline deadletter discard 3f2a 77c0
    throughline deadletter discard 3f2a 77c0 --yes
    """  # noqa: D301 - \b keeps the lines of the examples apart
    storage = parts_of(context, home).storage
    try:
        letters = {letter.digest: letter for letter in (_found(storage, each) for each in ids)}
        for letter in letters.values():
            out.print(in_lines(letter))
            if yes and events_discard(storage, letter.digest) is None:
                note("gone", f"{letter.digest[:SHORT]} was used meanwhile")
    except WriteConflict as error:
        fail(f"{error}. Try again")
    except StorageUnavailable as error:
        fail(f"{error}. Try again: what was discarded stays so")
    out.print(f"{len(letters):,} discarded" if yes else f"{len(letters):,} would be discarded: --yes does it")


def tell_letter(replayed: ReplayedLetter) -> None:
    """Say what became of a dead letter that was replayed."""
    letter = replayed.letter
    words = [letter.digest[:SHORT], " ", str(replayed.outcome)]
    if replayed.now:
        words += [", its run is now ", replayed.now]
    if replayed.outcome is LetterOutcome.FAILED:
        words += [f" ({times(letter.count)}): {letter.error}"]
    out.print(Text(visible("".join(words))))


def tell_published(parts: Worker) -> bool:
    """Publish what is due and say what was done. False when the catalog did not take it."""
    done, waiting = publish_all(parts.storage, parts.catalog, parts.publishing)
    left = waiting - done.refused
    out.print(f"catalog: {done.written:,} written, {done.removed:,} removed, {done.unchanged:,} as they were")
    if done.held:
        note("shadow mode", f"{done.held:,} are kept from the catalog: `throughline shadow` lists them")
    if done.refused:
        note("refused", f"the catalog refused {done.refused:,}: `throughline status` tells why")
    if done.error:
        note(
            "catalog",
            f"{done.error}. Nothing is lost: {left:,} processes wait, and are published once the catalog answers",
        )
    elif left > 0:
        out.print(f"{left:,} more are to be published: another publisher is at it, or they wait for their time")
    return not (done.error or done.refused)


def quiet() -> None:
    """Keep the pipeline's log lines out of the terminal: what they tell of is on record, and told in fewer words."""
    logging.getLogger("throughline").addHandler(logging.NullHandler())


def _when(letter: DeadLetter) -> tuple[datetime, str]:
    return letter.last, letter.digest


def _fits(letter: DeadLetter, reason: str) -> bool:
    return reason.lower() in f"{letter.reason}\n{letter.error}".lower()


def _found(storage: Storage, start: str) -> DeadLetter:
    """The one dead letter whose id starts so; ends the command when there is none, or more than one."""
    start = start.lower()
    if len(start) < _SHORTEST or not set(start) <= _HEXADECIMAL:
        fail(f"{start!r} is no id: give {_SHORTEST} or more of its hexadecimal digits", code=2)
    found = heapq.nsmallest(_MOST_CANDIDATES, dead_letters(storage, start), key=lambda each: each.digest)
    if not found:
        fail(f"no dead letter has an id that starts with {start}", code=2)
    if len(found) > 1:
        fail(f"{start} is not unique: {', '.join(each.digest for each in found)}", code=2)
    return found[0]


def _storage_away(error: StorageUnavailable) -> NoReturn:
    away(error)
