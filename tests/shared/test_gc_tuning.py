"""The garbage collector: seldom within a block or for good, and as it was after the block."""

import gc
from collections.abc import Iterator

import pytest

from shared import gc_tuning


@pytest.fixture(autouse=True)
def thresholds_of_python() -> Iterator[None]:
    """Another test of this process may have assembled a worker, which collects seldom for good."""
    thresholds = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*thresholds)


def test_a_process_of_ours_collects_seldom_and_never_what_exists_at_its_start() -> None:
    threshold, frozen = gc.get_threshold(), gc.get_freeze_count()
    rows = [[number] for number in range(1000)]
    try:
        gc_tuning.tune_gc()
        assert gc.get_threshold() > threshold
        assert gc.get_freeze_count() >= frozen + len(rows)
    finally:
        gc.unfreeze()
        gc.set_threshold(*threshold)


def test_within_a_block_it_collects_seldom_and_afterwards_as_before() -> None:
    threshold = gc.get_threshold()
    with gc_tuning.calm():
        assert gc.get_threshold() > threshold
    assert gc.get_threshold() == threshold
