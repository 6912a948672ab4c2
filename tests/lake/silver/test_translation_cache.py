"""Translations, cached or not, equal those of the core."""

import tracemalloc
from datetime import timedelta
from functools import cache
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from shared.model import Span
from shared.openlineage.decoding import Event, decode
from shared.openlineage.merging import merge
from shared.openlineage.run import MergedRun
from shared.translation.run.application import (
    NO_APPLICATION_FACTS,
    NO_CONTEXT,
    RunContext,
    StreamBatch,
    application_facts_of,
)
from shared.translation.run.datasets import Datasets
from shared.translation.run.translate import names_no_source
from tests.lake.files import OF_SPARK
from throughline.lake.silver.translation_cache import MAX_CACHED_BYTES, TranslationCache, translated_run
from throughline.lake.tables.encoding import pack, unpack_lifecycle_events, unpack_run

pytestmark = OF_SPARK

GOLDEN = Path(__file__).parents[2] / "golden"
IDS = ("00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002")


@cache
def _runs() -> tuple[MergedRun, ...]:
    """The runs of all captured scenarios of one version, those of Databricks among them, which take facts from one
    another.
    """
    events: dict[tuple[str, str], list[Event]] = {}
    for path in sorted((GOLDEN / "spark35-ol1.53").glob("*/events.jsonl")):
        for event in map(decode, path.read_bytes().splitlines()):
            if event.body:
                events.setdefault((path.parent.name, event.run_id), []).append(event)
    return tuple(merge(own_event) for own_event in events.values())


def _copies(bases: list[MergedRun]) -> st.SearchStrategy[list[tuple[MergedRun, bool, MergedRun]]]:
    """Runs that differ from one of these in ids and times only, their timeouts, and other runs of the context."""
    copy = st.builds(
        lambda run, run_id, parent, delay: replace(
            run, run_id=run_id, application_run=parent or run_id, first=run.first + delay, last=run.last + delay
        ),
        st.sampled_from(bases),
        st.sampled_from(IDS),
        st.sampled_from([None, *IDS]),
        st.sampled_from([timedelta(), timedelta(hours=1)]),
    )
    telling = [_runs()[0], *(run for run in _runs() if application_facts_of(run) != NO_APPLICATION_FACTS)]
    return st.lists(st.tuples(copy, st.booleans(), st.sampled_from(telling)), max_size=30)


asked_for = st.lists(st.sampled_from(_runs()), min_size=1, max_size=2).flatmap(_copies)


@given(asked_for, st.sampled_from([0, 5_000, MAX_CACHED_BYTES]))
def test_cached_translations_equal_fresh_ones(asked: list[tuple[MergedRun, bool, MergedRun]], remembered: int) -> None:
    sayings = TranslationCache(remembered)
    for run, timed_out, other in asked:
        run_context = RunContext(facts=application_facts_of(other) | application_facts_of(run))
        assert sayings.of(run, run_context, timed_out=timed_out) == translated_run(
            run, run_context, timed_out=timed_out
        )


def _again(run: MergedRun) -> MergedRun:
    return replace(run, run_id=IDS[0], first=run.first + timedelta(days=1), last=run.last + timedelta(days=1))


def test_only_new_content_is_translated() -> None:
    run = next(run for run in _runs() if run.ended == "COMPLETE" and run.inputs and run.outputs)
    sayings = TranslationCache()
    first = sayings.of(run, NO_CONTEXT, timed_out=False)
    assert first["outcome"] == "translated"
    assert sayings.of(_again(run), NO_CONTEXT, timed_out=False) is first
    assert sayings.of(replace(run, statement="select 1"), NO_CONTEXT, timed_out=False) is not first


def test_a_cached_lifecycle_event_gets_the_time_of_its_own_run() -> None:
    run = next(run for run in _runs() if translated_run(run, NO_CONTEXT, timed_out=False)["lifecycle_events"])
    sayings = TranslationCache()
    for merged_run in (run, _again(run)):
        (lifecycle_event, *_) = unpack_lifecycle_events(
            sayings.of(merged_run, NO_CONTEXT, timed_out=False)["lifecycle_events"]
        )
        assert lifecycle_event.at == merged_run.last


def test_a_run_in_a_batch_is_translated_by_itself() -> None:
    """Its lineage has the sources of the batch."""
    run = next(run for run in _runs() if names_no_source(run) and run.ended == "COMPLETE")
    source = next(asset for merged_run in _runs() for asset in Datasets.of(merged_run, NO_CONTEXT).inputs.values())
    batch = StreamBatch(seen=Span(first=run.first, last=run.last), run_id=IDS[1], inputs=(source,))
    sayings = TranslationCache()
    lone_translation = sayings.of(run, NO_CONTEXT, timed_out=False)
    for _ in range(2):
        inside = RunContext(batches=(batch,))
        assert (
            sayings.of(run, inside, timed_out=False) == translated_run(run, inside, timed_out=False) != lone_translation
        )


def test_an_application_is_not_taken_for_one_of_its_runs() -> None:
    application = next(run for run in _runs() if run.is_application and run.ended and not run.inputs + run.outputs)
    sayings = TranslationCache()
    reasons = {
        sayings.of(merged_run, NO_CONTEXT, timed_out=False)["reason"]
        for merged_run in (application, replace(application, application_run=IDS[1]))
    }
    assert reasons == {"an application's own event", "names no data set"}


def test_the_cache_stays_within_its_memory_limit() -> None:
    """With wide runs that all differ, whose texts are a small part of their memory."""
    run = next(run for run in _runs() if run.ended == "COMPLETE" and run.inputs and not run.outputs)
    source = replace(run.inputs[0], schema=tuple((f"column_{column_number}", "string") for column_number in range(200)))
    memory_limit = 1_000_000
    sayings = TranslationCache(memory_limit)
    tracemalloc.start()
    try:
        for number in range(200):
            unpacked_run = unpack_run(pack(replace(run, inputs=(source,), statement=f"select {number}")))
            sayings.of(unpacked_run, NO_CONTEXT, timed_out=False)
            used_memory, _ = tracemalloc.get_traced_memory()
            assert used_memory < 2 * memory_limit
    finally:
        tracemalloc.stop()
