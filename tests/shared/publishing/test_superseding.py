"""Which application runs may count for a process: the others need not be read."""

from datetime import UTC, datetime, timedelta
from typing import Any

from shared.publishing.context import PublishOptions
from shared.publishing.headers import Part
from shared.publishing.planning import superseding
from shared.translation.aggregate import SupersessionPolicy
from tests.support.events import event
from tests.support.runtime import Runtime

NINE = datetime(2026, 11, 21, 9, tzinfo=UTC)
NOON = NINE + timedelta(hours=3)
POLICY = SupersessionPolicy(quiet=timedelta(hours=1))


def part(application: str, begin: datetime, **facts: Any) -> Part:
    """What an application contributed in the minute after its beginning."""
    end = begin + timedelta(minutes=1)
    return Part(process="p", application=application, version=1, seen_first=begin, seen_last=end, **facts)


def counting(*parts: Part) -> list[str]:
    """The applications that may count at noon."""
    return sorted(superseding(parts, NOON, POLICY))


OLD = part("old", NINE, ended="COMPLETE")
TEN = NINE + timedelta(hours=1)


def test_an_application_that_completed_supersedes_those_that_contributed_before_it_began() -> None:
    assert counting(OLD, part("new", TEN, ended="COMPLETE")) == ["new"]
    assert counting(OLD, part("new", TEN, first=NINE, ended="COMPLETE")) == ["new", "old"], "it began with the old one"


def test_one_that_failed_supersedes_none() -> None:
    assert counting(OLD, part("new", TEN, ended="FAIL")) == ["new", "old"]


def test_one_without_an_end_supersedes_when_it_was_quiet() -> None:
    assert counting(OLD, part("new", TEN)) == ["new"]
    assert counting(OLD, part("new", TEN, active=NOON - timedelta(minutes=5))) == ["new", "old"]


def test_the_first_of_two_that_supersede_decides() -> None:
    latest = part("latest", TEN + timedelta(minutes=30), ended="COMPLETE")
    assert counting(OLD, part("new", TEN, ended="COMPLETE"), latest) == ["latest"]


def sources(runtime: Runtime) -> list[str]:
    """What the only process reads."""
    (process,) = runtime.catalog.processes.values()
    return [name.removeprefix("file://") for _, name in process.inputs]


def test_an_application_in_which_another_process_has_folded_a_run_meanwhile_was_not_quiet() -> None:
    runtime = Runtime(publishing=PublishOptions(patience=POLICY))
    other = Runtime(storage=runtime.storage, catalog=runtime.catalog, now=runtime.now)

    def job(run: str, application: str, hours: float, **fields: Any) -> bytes:
        time = f"{runtime.now - timedelta(hours=hours):%Y-%m-%dT%H:%M:%S}"
        return event(run, "COMPLETE", time, application=application, **fields)

    runtime.run(
        job("a", "old", 3, inputs=["/a"], outputs=["/out"]), job("b", "new", 2.1, inputs=["/b"], outputs=["/out"])
    )
    assert sources(runtime) == ["/b"]
    runtime.post(job("c", "new", 2, inputs=["/c"], outputs=["/out"]))
    other.post(job("d", "new", 0.1))
    runtime.publish()
    assert sources(runtime) == ["/a", "/b", "/c"]
