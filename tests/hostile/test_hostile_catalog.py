"""A hostile catalog, on real HTTP: all lineage arrives, and in few calls.

At most twice the calls of the calm run go well; beside them are only those that were struck.
"""

from collections.abc import Iterator

import pytest

from local.catalog import CatalogServer
from shared.reporting.status import status
from tests.hostile.runs import BATCH, HEALED_AFTER, HOSTILE, POISONS, PROCESSES, SEARCHED, Run, publish_all_against


@pytest.fixture(scope="module")
def calm(catalog_server: CatalogServer) -> Run:
    """What it takes when nothing goes wrong."""
    return publish_all_against(catalog_server)


@pytest.fixture(scope="module")
def calm_searching(catalog_server: CatalogServer) -> Run:
    """The same where each data set is searched for."""
    return publish_all_against(catalog_server, search=True)


@pytest.fixture
def server(catalog_server: CatalogServer) -> Iterator[CatalogServer]:
    """The catalog, without troubles afterwards."""
    yield catalog_server
    catalog_server.have_troubles()


@pytest.mark.parametrize("troubles", HOSTILE.values(), ids=HOSTILE)
def test_all_lineage_arrives_in_few_calls(server: CatalogServer, calm: Run, troubles: tuple[str, ...]) -> None:
    run = publish_all_against(server, *troubles)
    assert run.held == calm.held
    assert run.left == 0
    assert status(run.storage).waiting == 0
    assert run.well <= 2 * calm.total, f"{run.well} of {run.total} calls, {calm.total} when it is calm"


@pytest.mark.parametrize("name", SEARCHED)
def test_what_must_be_searched_for_gets_on_however_few_calls_go_well_in_a_row(
    server: CatalogServer, calm_searching: Run, name: str
) -> None:
    """A batch takes more calls than the catalog answers before it asks to wait: what was learnt must not be lost."""
    run = publish_all_against(server, *HOSTILE[name], search=True)
    assert run.held == calm_searching.held
    assert run.left == 0
    assert run.well <= 2 * calm_searching.total, f"{run.well} of {run.total} calls, {calm_searching.total} when calm"


@pytest.mark.parametrize("troubles", POISONS.values(), ids=POISONS)
def test_one_entity_that_the_catalog_cannot_have_costs_the_others_nothing(
    server: CatalogServer, calm: Run, troubles: tuple[str, ...]
) -> None:
    run = publish_all_against(server, *troubles, heal_after=HEALED_AFTER)
    assert run.held == calm.held
    assert run.left == 0
    assert run.done.refused >= 1
    assert run.well <= 2 * calm.total


def test_the_calm_run_writes_each_process_once_in_full_calls(calm: Run) -> None:
    assert (calm.done.written, calm.done.refused, len(calm.held)) == (PROCESSES, 0, PROCESSES)
    assert calm.total <= PROCESSES / BATCH * 6
