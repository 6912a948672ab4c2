"""A failing catalog over real HTTP: all lineage arrives in few calls.

At most twice the calls of the calm run succeed; all others are failed ones.
"""

from collections.abc import Iterator

import pytest

from shared.reporting.status import status
from tests.hostile.runs import BATCH, HEALED_AFTER, HOSTILE, POISONS, PROCESSES, SEARCHED, Run, publish_all_against
from tests.support.troubled_catalog import TroubledCatalog


@pytest.fixture(scope="module")
def calm(troubled_server: TroubledCatalog) -> Run:
    """A run without failures."""
    return publish_all_against(troubled_server)


@pytest.fixture(scope="module")
def calm_searching(troubled_server: TroubledCatalog) -> Run:
    """A run without failures in which each data set is searched for."""
    return publish_all_against(troubled_server, search=True)


@pytest.fixture
def server(troubled_server: TroubledCatalog) -> Iterator[TroubledCatalog]:
    """The catalog; its troubles are removed afterwards."""
    yield troubled_server
    troubled_server.have_troubles()


@pytest.mark.parametrize("troubles", HOSTILE.values(), ids=HOSTILE)
def test_all_lineage_arrives_in_few_calls(server: TroubledCatalog, calm: Run, troubles: tuple[str, ...]) -> None:
    run = publish_all_against(server, *troubles)
    assert run.held == calm.held
    assert run.number_left == 0
    assert status(run.storage).waiting == 0
    assert run.well <= 2 * calm.well, f"{run.well} of {run.total} calls, {calm.well} when it is calm"


@pytest.mark.parametrize("name", SEARCHED)
def test_searching_progresses_however_few_calls_succeed_in_a_row(
    server: TroubledCatalog, calm_searching: Run, name: str
) -> None:
    """A batch takes more calls than the catalog answers before it throttles: partial results must be kept."""
    run = publish_all_against(server, *HOSTILE[name], search=True)
    assert run.held == calm_searching.held
    assert run.number_left == 0
    assert run.well <= 2 * calm_searching.well, f"{run.well} of {run.total} calls, {calm_searching.well} when calm"


@pytest.mark.parametrize("troubles", POISONS.values(), ids=POISONS)
def test_one_refused_entity_does_not_affect_the_others(
    server: TroubledCatalog, calm: Run, troubles: tuple[str, ...]
) -> None:
    run = publish_all_against(server, *troubles, heal_after=HEALED_AFTER)
    assert run.held == calm.held
    assert run.number_left == 0
    assert run.published.refused >= 1
    assert run.well <= 2 * calm.well


def test_the_calm_run_writes_each_process_once_in_full_calls(calm: Run) -> None:
    assert (calm.published.written, calm.published.refused, len(calm.held)) == (PROCESSES, 0, PROCESSES)
    assert calm.total <= PROCESSES / BATCH * 6
