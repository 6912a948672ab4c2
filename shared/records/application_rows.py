"""What the runs of one application leave for one another, as rows in the application's partition of `runs`.

A run that tells something writes it down first and then looks for those whom it concerns; a run whom it may concern
writes its own rows first and then looks for what was told. One of the two always sees the other, in any order.

What is told of the application as a whole only grows. Batches and fates are each run's own word, with the generation of
the settling that left it: it may be taken back, and a settling that was overtaken cannot bring it back.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import timedelta

import msgspec

from shared.model import Span
from shared.naming.names import Names
from shared.openlineage.run import MergedRun
from shared.records.run_state import WordKey, packed_cell, unpacked_cell
from shared.storage.compare_and_swap import Place, compare_and_swap
from shared.storage.port import Row, Storage, Value
from shared.storage_layout import LINK, RUNS, digest_of, stamp
from shared.translation.application.context import (
    AT_ONCE,
    ApplicationFacts,
    RunContext,
    StreamBatch,
    application_facts_of,
    enclosing_batches,
)
from shared.translation.application.lifecycle import LifecycleEvent, LifecycleEvents
from shared.translation.run.changes import batch_of, lifecycle_events_in, names_no_source

_TOLD = "application"
_BATCH, _ALONE, _FATE = "batch|", "alone|", "fate|"
_BATCHES_SETTLED_ANEW = 64
"""So many of the latest batches of an application are settled anew when its place becomes known; others keep the names
that they gave to what they read.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """What is known of an application as a whole.

    `told`: what its runs have told; `heard`: how much of that all runs it concerns have been settled with; `fates`:
    whether what it says counts only together (see FATED); `streams`: whether it left any batch.
    """

    run: str
    told: ApplicationFacts = field(default_factory=ApplicationFacts)
    heard: ApplicationFacts = field(default_factory=ApplicationFacts)
    fates: bool = False
    streams: bool = False

    def row(self, storage: Storage) -> Row:
        """As a row of `runs`."""
        cell = packed_cell(storage, "told", (self.told, self.heard))
        values: dict[str, Value] = {"fates": self.fates, "streams": self.streams, **cell}
        return Row(partition=self.run, key=_TOLD, values=values)

    @classmethod
    def of(cls, row: Row, storage: Storage) -> "Application":
        """From a row of `runs`."""
        told, heard = _decode_told(unpacked_cell(storage, "told", row))
        fates, streams = bool(row.values["fates"]), bool(row.values["streams"])
        return cls(run=row.partition, told=told, heard=heard, fates=fates, streams=streams)


_decode_told = msgspec.json.Decoder(tuple[ApplicationFacts, ApplicationFacts]).decode


def application(storage: Storage, run: str) -> Application:
    """What is known of this application: a point read."""
    found = storage.read(RUNS, run, _TOLD)
    return Application.of(found, storage) if found else Application(run=run)


def _change(storage: Storage, run: str, change: Callable[[Application], Application | None]) -> Application:
    """Change what is known of an application, unless `change` gives None; what is known then."""
    swapped = compare_and_swap(
        storage,
        Place(RUNS, run, _TOLD),
        lambda found: change(found or Application(run=run)) or found,
        decode=lambda row: Application.of(row, storage),
        encode=lambda wanted: wanted.row(storage),
    )
    return swapped.after or Application(run=run)


Ask = Callable[[Storage, str], Application]
"""Gives what is known of an application."""


def has_fates(row: Row) -> bool:
    """Whether a row of `runs` says of an application that what it says counts only together."""
    return row.key == _TOLD and bool(row.values["fates"])


def tell(
    storage: Storage, run: str, told: ApplicationFacts, *, fates: bool = False, streams: bool = False
) -> Application:
    """Add to what is known of an application; writes only what is new. Returns what is known then."""

    def change(known: Application) -> Application | None:
        wanted = replace(known, told=known.told | told, fates=known.fates or fates, streams=known.streams or streams)
        return None if wanted == known else wanted

    return _change(storage, run, change)


def note_heard(storage: Storage, handled: Application) -> bool:
    """All runs that `handled.told` concerns have been settled with it. False when more was told meanwhile."""

    def change(known: Application) -> Application | None:
        return replace(known, heard=handled.told) if known.told == handled.told else None

    return _change(storage, handled.run, change).told == handled.told


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What one run leaves for the others of its application: what it `told` of the application as a whole, its `batch`
    if it is one, and what became of data sets through it.
    """

    told: ApplicationFacts = field(default_factory=ApplicationFacts)
    batch: StreamBatch | None = None
    fates: tuple[LifecycleEvent, ...] = ()

    @classmethod
    def of(cls, run: MergedRun, heard: RunContext) -> "Words":
        """Of a run that is over, having heard what the others tell. Pure."""
        return cls(told=application_facts_of(run), batch=batch_of(run, heard), fates=lifecycle_events_in(run, heard))

    def by_key(self) -> dict[str, StreamBatch | LifecycleEvent]:
        """Those that may be taken back, by the keys of their rows. Of one data set and kind the latest."""
        found: dict[str, StreamBatch | LifecycleEvent] = {
            _fate_key(fate): fate for fate in sorted(self.fates, key=LifecycleEvent.in_order)
        }
        return {_batch_key(self.batch): self.batch, **found} if self.batch else found

    def keys(self, application_run: str) -> frozenset[WordKey]:
        """Where they are left."""
        return frozenset((application_run, key) for key in self.by_key())


def _batch_key(batch: StreamBatch) -> str:
    return f"{_BATCH}{stamp(batch.seen.last)}|{batch.run_id}"


def _fate_key(fate: LifecycleEvent) -> str:
    return f"{_FATE}{digest_of(f'{fate.qualified_name}|{fate.table}'.encode())}|{fate.state}"


class _Word(msgspec.Struct, frozen=True, array_like=True):
    """What a run left, in which generation; nothing when it has taken it back. `enclosed` is when what stands inside of
    the batch ended that it left before: a settling that is cut off must find it again.
    """

    generation: int
    batch: StreamBatch | None = None
    fate: LifecycleEvent | None = None
    enclosed: Span | None = None


_decode_words = msgspec.json.Decoder(dict[str, _Word]).decode
_REMEMBERED = 16
"""Runs whose words on one data set are kept: the latest counts, and these may still take theirs back. So many are kept
that were taken back, for an overtaken settling may still come.
"""


def _words(storage: Storage, row: Row) -> dict[str, _Word]:
    return _decode_words(unpacked_cell(storage, "words", row))


def _leave(storage: Storage, run_id: str, place: WordKey, word: _Word) -> _Word:
    """Put a run's word in its row, unless a later generation's is there. Returns the word as it stands there now."""
    application_run, key = place

    def change(words: dict[str, _Word] | None) -> dict[str, _Word]:
        words = words or {}
        before = words.get(run_id)
        if before and before.generation >= word.generation:
            return words
        enclosed = (before.batch.ends if before.batch else before.enclosed) if before else None
        return _latest({**words, run_id: msgspec.structs.replace(word, enclosed=enclosed)})

    swapped = compare_and_swap(
        storage,
        Place(RUNS, application_run, key),
        change,
        decode=lambda row: _words(storage, row),
        encode=lambda words: Row(partition=application_run, key=key, values=packed_cell(storage, "words", words)),
    )
    return (swapped.after or {}).get(run_id, word)


def _latest(words: dict[str, _Word]) -> dict[str, _Word]:
    """Without the oldest of too many."""
    if len(words) <= _REMEMBERED:
        return words
    fates = {run: word.fate for run, word in words.items() if word.fate}
    latest = sorted(fates, key=lambda run: (fates[run].in_order(), run))[-_REMEMBERED:]
    others = [run for run in words if run not in fates][-_REMEMBERED:]
    return {run: words[run] for run in (*others, *latest)}


def is_word(row: Row) -> bool:
    """Whether a row of `runs` is where runs left word that they may take back."""
    return row.key.startswith((_BATCH, _FATE))


APPLICATION_ROWS = (LINK, _TOLD, _BATCH, _ALONE, _FATE)
"""How the keys of all rows begin that tell of an application and not of a run."""


def words_of(storage: Storage, row: Row, runs: AbstractSet[str]) -> Row | None:
    """What of a row that tells of an application these runs have left there; what is told of it as a whole stays."""
    if row.key.startswith(_ALONE):
        return row if row.key.rpartition("|")[2] in runs else None
    if not is_word(row):
        return row
    words = _words(storage, row)
    stays = {run: word for run, word in words.items() if run in runs}
    if len(stays) == len(words):
        return row
    return replace(row, values=packed_cell(storage, "words", stays)) if stays else None


def batches_after(storage: Storage, run: MergedRun) -> Iterator[StreamBatch]:
    """The batches of the run's application that ended after it, one after the other: the first that fits will do."""
    rows = storage.partition(RUNS, run.application_run, since=f"{_BATCH}{stamp(run.last)}", before=f"{_BATCH}~")
    return (word.batch for row in rows for word in _words(storage, row).values() if word.batch)


def note_alone(storage: Storage, run: MergedRun) -> None:
    """Leave word that this run writes and names no source: a batch around it may tell."""
    storage.insert(RUNS, Row(partition=run.application_run, key=f"{_ALONE}{stamp(run.last)}|{run.run_id}"))


_MOMENT = timedelta(microseconds=1)


def alone_within(storage: Storage, application_run: str, span: Span) -> list[str]:
    """The runs of the application that ended within this time and name no source."""
    rows = storage.partition(
        RUNS,
        application_run,
        since=f"{_ALONE}{stamp(span.first)}",
        before=f"{_ALONE}{stamp(span.last + _MOMENT)}",
    )
    return sorted({row.key.rpartition("|")[2] for row in rows})


def fates_and_links(storage: Storage, application_run: str) -> tuple[LifecycleEvents, tuple[Row, ...]]:
    """What became of the application's data sets, and the rows that tell what it wrote: both in one reading."""
    rows = tuple(storage.partition(RUNS, application_run, since=_FATE, before=f"{LINK}~"))
    links = tuple(row for row in rows if row.key.startswith(LINK))
    return fates_told(storage, [row for row in rows if is_word(row)]), links


def fates_told(storage: Storage, rows: Iterable[Row]) -> LifecycleEvents:
    """What rows of one application tell of its data sets."""
    rows = (row for row in rows if row.key.startswith(_FATE))
    return LifecycleEvents.of(word.fate for row in rows for word in _words(storage, row).values() if word.fate)


def placed_by(storage: Storage, application_run: str) -> set[str]:
    """The runs whose fates and batches name data sets by the application's place: of each row those it remembers, of
    batches the latest.
    """
    batches = storage.partition(RUNS, application_run, since=_BATCH, before=f"{_BATCH}~")
    fates = storage.partition(RUNS, application_run, since=_FATE, before=f"{_FATE}~")
    rows = (*deque(batches, maxlen=_BATCHES_SETTLED_ANEW), *fates)
    return {run for row in rows for run in _words(storage, row)}


def listen(storage: Storage, run: MergedRun, names: Names, ask: Ask = application) -> RunContext:
    """What the other runs of its application, and this one, have told so far of what concerns this run."""
    if names_no_source(run):
        note_alone(storage, run)
    return around(storage, run, ask(storage, run.application_run), names)


def around(storage: Storage, run: MergedRun, known: Application, names: Names) -> RunContext:
    """What concerns this run of what is `known` of its application."""
    streams = known.streams and names_no_source(run)
    batches = _first_around(batches_after(storage, run), run) if streams else ()
    return RunContext(told=known.told | application_facts_of(run), batches=batches, names=names)


def _first_around(batches: Iterable[StreamBatch], run: MergedRun) -> tuple[StreamBatch, ...]:
    """As `enclosing_batches`, of batches in the order of their ends: no more are read than those that may be it."""
    found: list[StreamBatch] = []
    for batch in batches:
        if found and batch.seen.last > found[0].seen.last + AT_ONCE:
            break
        found += enclosing_batches((batch,), run)
    return enclosing_batches(found, run)


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What came of leaving word: what is `known` of the application then, and the runs `inside` of this one, as far as
    it is or was a batch: they are to be settled anew.
    """

    known: Application
    inside: tuple[str, ...] = ()


def leave_words(
    storage: Storage, run: MergedRun, words: Words, before: Iterable[WordKey], generation: int, *, wants: bool
) -> Left:
    """Leave what this run tells the others of its application, and take back what it left `before` and says no more;
    `wants`: whether its statement names tables that others may know.
    """
    fates, streams = bool(words.fates) or wants, words.batch is not None
    known = tell(storage, run.application_run, words.told, fates=fates, streams=streams)
    now = {(run.application_run, key): word for key, word in words.by_key().items()}
    spans: list[tuple[str, Span]] = []
    for place in sorted({*now, *before}):
        word = now.get(place)
        batch, fate = (word, None) if isinstance(word, StreamBatch) else (None, word)
        left = _leave(storage, run.run_id, place, _Word(generation=generation, batch=batch, fate=fate))
        spans += [(place[0], span) for span in (left.batch and left.batch.ends, left.enclosed) if span]
    inside = {each for application_run, span in spans for each in alone_within(storage, application_run, span)}
    return Left(known=known, inside=tuple(sorted(inside - {run.run_id})))
