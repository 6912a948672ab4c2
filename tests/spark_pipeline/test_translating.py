"""What the lake knows of an application while it translates its runs."""

from datetime import timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from shared.model import Span
from shared.openlineage import MergedRun, decode, merge
from shared.translation import Batch, enclosing
from spark_pipeline.translating import Batches

LINES = (Path(__file__).parent.parent / "golden/spark35-ol1.53/reruns/events.jsonl").read_bytes().splitlines()
RUN = merge([next(event for event in map(decode, LINES) if event.body)])

moments = st.sampled_from([0, 1, 1_000, 2_000, 3_000, 500_000, 999_999, 1_000_000, 1_500_000, 3_000_000])
spans = st.tuples(moments, moments).map(sorted)


def _span(micros: list[int]) -> Span:
    first, last = (RUN.first + timedelta(microseconds=each) for each in micros)
    return Span(first=first, last=last)


@given(told=st.lists(st.tuples(spans, st.booleans()), max_size=12), ran=st.lists(spans, min_size=1, max_size=3))
def test_the_batches_around_a_run_are_those_that_enclose_it(
    told: list[tuple[list[int], bool]], ran: list[list[int]]
) -> None:
    """Of batches side by side, one after the other, and of which no beginning is known; one of them the run itself."""
    known = Batches()
    batches = [
        Batch(seen=_span(micros), run_id=str(number), inputs=(), began=began)
        for number, (micros, began) in enumerate(sorted(told, key=lambda each: each[0][1]))
    ]
    for batch in batches:
        known.add(batch)
    assert len(known) == len(batches)
    for micros in ran:
        seen = _span(micros)
        run: MergedRun = replace(RUN, run_id="0", first=seen.first, last=seen.last)
        assert known.around(run) == enclosing(batches, run)
