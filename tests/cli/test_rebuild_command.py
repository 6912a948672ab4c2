"""`throughline rebuild`: output, interruption, and the error when storage is unavailable."""

import signal
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from shared.bootstrap import Worker
from shared.catalog.memory import MemoryCatalog
from shared.errors import StorageUnavailable
from shared.events.archiver import archive
from shared.naming.names import BUILT_IN
from shared.processing.sweeper import SweepOptions
from shared.publishing.planning.options import PublishOptions
from shared.reporting.status import status
from shared.storage.memory import MemoryStorage
from tests.support.archiving import AT_ONCE
from tests.support.dead_letters import Stepped
from tests.support.events import write
from tests.support.processing import post, settle
from tests.support.publishing import publish


@pytest.fixture
def parts() -> Worker:
    """The adapters of the command: storage and catalog in memory."""
    storage: Any = Stepped(MemoryStorage())
    return Worker(
        storage=storage, catalog=MemoryCatalog(), publishing=PublishOptions(), sweeping=SweepOptions(), names=BUILT_IN
    )


@pytest.fixture
def storage(parts: Worker) -> Any:
    """One run in the archive, one beside it, both published."""
    found: Any = parts.storage
    for name, hour in (("a", "10:00"), ("b", "11:00")):
        for place in post(found.real, *write(name, "app", hour, f"/{name}", sink=f"/out-{name}")):
            settle(found.real, place)
        if name == "a":
            archive(found.real, AT_ONCE)
    publish(found.real, parts.catalog, parts.publishing)
    return found


@pytest.fixture
def run(parts: Worker) -> Callable[..., Result]:
    """The command with these arguments."""
    return lambda *arguments: CliRunner().invoke(app, ["rebuild", *arguments], obj=parts)


def test_the_plan_reports_the_amount_and_writes_nothing(run: Callable[..., Result], storage: Any) -> None:
    rows = list(storage.real.scan("runs"))
    result = run("--plan")
    assert result.exit_code == 0
    assert "rows would be deleted and rebuilt, from 1 file of the archive and 2 unarchived events" in result.output
    assert list(storage.real.scan("runs")) == rows


def test_rebuild_restores_lost_contributions_and_can_be_repeated(run: Callable[..., Result], storage: Any) -> None:
    for row in list(storage.real.scan("contributions")):
        storage.real.delete("contributions", row.partition, row.key)
    for _ in range(2):
        result = run()
        assert result.exit_code == 0
        assert "2 runs rebuilt, from 1 file of the archive and 2 unarchived events" in result.output
        assert "catalog: 0 written, 0 removed, 2 unchanged" in result.output
    assert status(storage.real).published == 4


def test_ctrl_c_stops_the_rebuild_and_resume_continues(run: Callable[..., Result], storage: Any) -> None:
    before = signal.getsignal(signal.SIGINT)

    def ask(name: str, arguments: tuple[Any, ...]) -> None:
        if (name, arguments[0]) == ("delete", "contributions"):
            storage.step_in = lambda *_: None
            signal.raise_signal(signal.SIGINT)

    storage.step_in = ask
    stopped = run()
    assert (stopped.exit_code, "rebuild --resume" in stopped.output) == (130, True)
    assert signal.getsignal(signal.SIGINT) == before
    assert "are being rebuilt" in " ".join(status(storage.real).last_errors)
    assert run("--resume").exit_code == 0
    assert status(storage.real).published == 4
    nothing = run("--resume")
    assert (nothing.exit_code, "nothing to resume" in nothing.output) == (2, True)


def test_an_outage_of_storage_names_the_command_that_continues(run: Callable[..., Result], storage: Any) -> None:
    def away(name: str, arguments: tuple[Any, ...]) -> None:
        if (name, arguments[0]) == ("insert", "contributions"):
            raise StorageUnavailable("Storage answered 503")

    storage.step_in = away
    result = run()
    assert result.exit_code == 1
    assert "Storage answered 503. Once storage answers, `throughline rebuild --resume` continues" in result.output
    storage.step_in = lambda *_: None
    assert run("--resume").exit_code == 0
    assert status(storage.real).published == 4
