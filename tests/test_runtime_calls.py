"""The calls to storage for an event, and the rows of the publish queue, stay what docs/reference/benchmarks.md says."""

import pytest

from shared.storage_layout import PUBLISH_QUEUE
from tests.bench.runtime_calls import SCENARIOS


@pytest.mark.parametrize(
    ("scenario", "calls", "rows"),
    [
        ("one by one", 1.6, 2.0),
        ("arrived together", 0.55, 1.1),
        ("unchanged daily rerun", 1.9, 2.3),
        ("burst of 2,000 runs", 0.1, 0.2),
        ("200 applications", 1.7, 2.3),
        ("foreachBatch stream", 3.01, 2.1),
    ],
)
def test_an_event_costs_no_more_calls_than_before(scenario: str, calls: float, rows: float) -> None:
    count = SCENARIOS[scenario]()
    assert count.rate <= calls
    assert count.rows[PUBLISH_QUEUE] / count.events <= rows
