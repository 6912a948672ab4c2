"""Damage to dead letters: their events are gone, or can be used."""

import gzip
import zlib
from collections.abc import Iterator

from shared.errors import Refused
from shared.events.dead_letters import DeadLetter, dead_letter, let_go
from shared.events.stored_runs import arrivals, noted, packed_event
from shared.maintenance.replay import Outcome, replay_letters
from shared.maintenance.verify.inconsistencies import Inconsistency, World
from shared.openlineage.decoding import decode
from shared.openlineage.merging import merge
from shared.records.application_record import read_application
from shared.records.run_context import context_of
from shared.storage.port import Storage
from shared.translation.run.translate import translate

_UNUSABLE = (RecursionError, ValueError, TypeError, LookupError, ArithmeticError)


def letters_without_blob(world: World, letter: DeadLetter) -> Iterator[Inconsistency]:
    """Letters whose blobs have gone: nothing is left to be used."""
    if not _is_stored(world.storage, letter):
        yield Inconsistency(
            subject=f"dead letter {letter.digest}", words=f"its blob {letter.blob!r} is gone", about=letter
        )


def _is_stored(storage: Storage, letter: DeadLetter) -> bool:
    place = letter.place
    if place:
        return packed_event(storage, place) is not None
    return any(each.name == letter.blob for each in arrivals(storage, letter.blob))


def drop_letter(world: World, damage: Inconsistency) -> bool:
    """The letter leaves, unless its blob is back or it was met again."""
    letter: DeadLetter = damage.about
    return _is_stored(world.storage, letter) or let_go(world.storage, letter)


def usable_letters(world: World, letter: DeadLetter) -> Iterator[Inconsistency]:
    """Letters whose events can be used by now: after an upgrade, or since somebody mended them. Discarded ones stay."""
    if letter.place and not letter.discarded and _is_stored(world.storage, letter) and _usable(world, letter):
        yield Inconsistency(
            subject=f"dead letter {letter.digest}", words=f"({letter.reason}) can be used now", about=letter.digest
        )


def _usable(world: World, letter: DeadLetter) -> bool:
    """Whether the event can be read, and its run merged and translated."""
    place = letter.place
    if place is None:
        return False
    events = []
    for each in {place, *noted(world.storage, place.run_id).events}:
        packed = packed_event(world.storage, each)
        try:
            events += [decode(gzip.decompress(packed))] if packed else []
        except (Refused, OSError, EOFError, zlib.error):
            if each == place:
                return False
    try:
        run = merge(events)
        known = read_application(world.storage, run.application_run)
        translate(run, context_of(world.storage, run, known, world.names))
    except _UNUSABLE:
        return False
    return True


def replay_letter(world: World, damage: Inconsistency) -> bool:
    """Replay it."""
    outcomes = [
        each.outcome
        for each in replay_letters(world.storage, lambda letter: letter.digest == damage.about, names=world.names)
        if each.letter.digest == damage.about
    ]
    return all(outcome is Outcome.USED for outcome in outcomes) and dead_letter(world.storage, damage.about) is None
