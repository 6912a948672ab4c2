"""`throughline deadletter`: events that can't be used, why, and how to replay or discard them."""

import heapq
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated

import typer
from rich.text import Text

from shared.events.archive import stored_packed
from shared.events.dead_letters import DeadLetter, dead_letters
from shared.events.dead_letters import discard as events_discard
from shared.maintenance.replay import LetterOutcome, replay_dead_letters
from shared.storage.port import Storage
from shared.texts import suggestion, visible
from throughline.cli.context.target import HOME, Home, parts_of, reported
from throughline.cli.records.dead_letters import ID_LENGTH, in_lines, letter_document, pretty, replayed_line, unpacked
from throughline.cli.records.published import publish_and_report
from throughline.cli.ui.console import counted, fail, left_out, note, out, print_json, tracked
from throughline.cli.ui.options import AsJson, ListLimit
from throughline.cli.ui.teaching import TeachingApp

app = TeachingApp(help="List events that can't be used, show why, replay or discard them.")

_MIN_DIGITS = 4
_MAX_CANDIDATES = 5
_HEXADECIMAL = frozenset("0123456789abcdef")

Reason = Annotated[str, typer.Option(metavar="TEXT", help="Only dead letters with this text in their reason or error")]
Ids = Annotated[list[str], typer.Argument(metavar="ID", help="Ids from `list`, or the first digits of each")]


def list_letters(
    context: typer.Context,
    *,
    reason: Reason = "",
    discarded: Annotated[bool, typer.Option("--discarded", help="List discarded dead letters instead")] = False,
    most: ListLimit = 50,
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """List dead letters, the latest first, and count them by reason.

    throughline deadletter list
    throughline deadletter list --reason 'damaged' --json | jq '.dead_letters[].id'
    """
    count: Counter[str] = Counter()
    storage = parts_of(context, home).storage

    def chosen() -> Iterator[DeadLetter]:
        for letter in dead_letters(storage):
            if bool(letter.discarded) == discarded and _fits(letter, reason):
                count[letter.reason] += 1
                yield letter

    letters = heapq.nlargest(most or sys.maxsize, chosen(), key=lambda letter: (letter.last, letter.digest))
    by_reason = dict(sorted(count.items(), key=lambda row: (-row[1], row[0])))
    if as_json:
        documents = list(map(letter_document, letters))
        print_json({"dead_letters": documents, "count": count.total(), "by_reason": by_reason})
        return
    for letter in letters:
        out.print(in_lines(letter))
    number = f"{count.total():,} discarded" if discarded else counted(count.total(), "dead letter")
    reasons = ", ".join(f"{number:,} {reason}" for reason, number in by_reason.items())
    out.print(f"{number}{': ' if reasons else ''}{reasons}{left_out(count.total() - len(letters))}")


def show(
    context: typer.Context,
    letter_id: Annotated[str, typer.Argument(metavar="ID", help="Its id from `list`, or the first digits of it")],
    *,
    home: Home = HOME,
) -> None:
    """Show a dead letter: its error, and the readable part of its event.

    Control characters are shown as escapes.
    """
    storage = parts_of(context, home).storage
    letter = _found(storage, letter_id)
    compressed = stored_packed(storage, letter.blob)
    for name, value in letter_document(letter).items():
        if value is not None:
            text = value.isoformat() if isinstance(value, datetime) else value
            out.print(Text.assemble((f"{name.replace('_', ' '):<12}", "bold"), visible(text)))
    if compressed is None:
        note("blob", "the container events no longer holds it: retention has deleted it, or someone else did")
        return
    data, trouble = unpacked(compressed)
    if trouble:
        note("bytes", trouble)
    out.print()
    out.print(Text(pretty(data)))


def replay(
    context: typer.Context,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Ids from `list`")] = None,
    *,
    everything: Annotated[bool, typer.Option("--all", help="All dead letters that are not discarded")] = False,
    reason: Reason = "",
    home: Home = HOME,
) -> None:
    """Compute the applications of dead letters again, then publish.

    A dead letter whose event can be used now is removed; one that fails again stays, with its new error. All dead
    letters of an application are replayed together. Exit code 1 if one is left, or the catalog does not answer.

        throughline deadletter replay 3f2a
        throughline deadletter replay --reason 'unusable run'
    """
    if bool(ids) + everything + bool(reason and not everything) != 1:
        fail("name the dead letters: by ids, --all or --reason TEXT", code=2)
    parts = parts_of(context, home, writes=True)
    outcomes: Counter[LetterOutcome] = Counter()
    with reported("What was not used is still a dead letter: replay it again once storage answers"):
        chosen_digests = {_found(parts.storage, letter_id).digest for letter_id in ids or ()}
        letters = replay_dead_letters(
            parts.processor,
            lambda letter: letter.digest in chosen_digests if ids else not letter.discarded and _fits(letter, reason),
        )
        for replayed in tracked(letters, "replaying"):
            if not replayed.is_news and replayed.letter.digest not in chosen_digests:
                continue
            outcomes[replayed.outcome] += 1
            out.print(replayed_line(replayed))
        out.print(", ".join(f"{number:,} {outcome}" for outcome, number in outcomes.items()) or "nothing to replay")
        published = publish_and_report(parts)
    if not published or set(outcomes) - {LetterOutcome.USED, LetterOutcome.GONE}:
        raise typer.Exit(1)


def discard(
    context: typer.Context,
    ids: Ids,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Discard; without it only show what would be done")] = False,
    home: Home = HOME,
) -> None:
    """Discard dead letters: their events count as skipped (discarded), and their blobs stay.

    `throughline deadletter replay ID` restores one whose event can be used.

        throughline deadletter discard 3f2a 77c0
        throughline deadletter discard 3f2a 77c0 --yes
    """
    storage = parts_of(context, home).storage
    with reported("What was discarded stays discarded: run the command again for the others"):
        letters = {letter.digest: letter for letter in (_found(storage, letter_id) for letter_id in ids)}
        for letter in letters.values():
            out.print(in_lines(letter))
            if yes and events_discard(storage, letter.digest) is None:
                note("gone", f"{letter.digest[:ID_LENGTH]} was used meanwhile")
    out.print(f"{len(letters):,} discarded" if yes else f"{len(letters):,} would be discarded: --yes does it")


def _fits(letter: DeadLetter, reason: str) -> bool:
    return reason.lower() in f"{letter.reason}\n{letter.error}".lower()


def _found(storage: Storage, start: str) -> DeadLetter:
    """The one dead letter whose id starts so; ends the command when there is none, or more than one."""
    start = start.lower()
    if len(start) < _MIN_DIGITS or not set(start) <= _HEXADECIMAL:
        fail(f"{start!r} is not an id: give {_MIN_DIGITS} or more of its hexadecimal digits", code=2)
    candidates = heapq.nsmallest(_MAX_CANDIDATES, dead_letters(storage, start), key=lambda letter: letter.digest)
    if not candidates:
        ids = (letter.digest[: max(len(start), _MIN_DIGITS)] for letter in dead_letters(storage))
        fail(f"no dead letter has an id that starts with {start}.{suggestion(start, ids)}")
    if len(candidates) > 1:
        fail(f"{start} is not unique: give more digits of one of {', '.join(letter.digest for letter in candidates)}")
    return candidates[0]


app.add("list", list_letters)
app.add("show", show)
app.add("replay", replay)
app.add("discard", discard)
