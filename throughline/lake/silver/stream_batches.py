"""The batches of one application's streams, of which there may be a million: little more than 60 bytes each."""

from array import array
from bisect import bisect_left
from itertools import accumulate

from shared.model import Asset, Span
from shared.openlineage.run import MergedRun
from shared.translation.run.application import AT_ONCE, StreamBatch, enclosing_batches
from throughline.lake.tables.encoding import micros, moment


class Batches:
    """The batches by the order of their ends."""

    def __init__(self) -> None:
        self._last, self._first, self._since = array("q"), array("q"), array("q")
        self._earliest = array("q")
        self._began = bytearray()
        self._runs: list[str] = []
        self._inputs: list[tuple[Asset, ...]] = []
        self._known: dict[tuple[Asset, ...], tuple[Asset, ...]] = {}

    def __len__(self) -> int:
        """How many there are."""
        return len(self._runs)

    def add(self, batch: StreamBatch) -> None:
        """One that ended no earlier than all before it."""
        self._last.append(micros(batch.seen.last))
        self._first.append(micros(batch.seen.first))
        self._since.append(micros(batch.ends.first))
        self._began.append(batch.began)
        self._runs.append(batch.run_id)
        self._inputs.append(self._known.setdefault(batch.inputs, batch.inputs))

    def around(self, run: MergedRun) -> tuple[StreamBatch, ...]:
        """As `enclosing_batches` of all: no more are looked at than those that may be it."""
        stream_batches: list[StreamBatch] = []
        until = micros(run.last)
        earliest = self._earliest_from_here()
        for index in range(bisect_left(self._last, until), len(self)):
            is_over = stream_batches and self._last[index] > micros(stream_batches[0].seen.last + AT_ONCE)
            if is_over or earliest[index] > until:
                break
            if self._since[index] <= until:
                stream_batches += enclosing_batches((self._at(index),), run)
        return enclosing_batches(stream_batches, run)

    def _earliest_from_here(self) -> "array[int]":
        """By batch, since when what ended later than it, or with it, may have enclosed anything."""
        if len(self._earliest) != len(self):
            self._earliest = array("q", accumulate(reversed(self._since), min))
            self._earliest.reverse()
        return self._earliest

    def _at(self, index: int) -> StreamBatch:
        seen_span = Span(first=moment(self._first[index]), last=moment(self._last[index]))
        began = bool(self._began[index])
        return StreamBatch(seen=seen_span, run_id=self._runs[index], inputs=self._inputs[index], began=began)
