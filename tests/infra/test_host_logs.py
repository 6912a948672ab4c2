"""Which lines of the functions and of their host are stored, by the levels in host.json."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FUNCTIONS = {path.parent.name for path in ROOT.glob("*/function.json")}
LOGGING = json.loads((ROOT / "host.json").read_text())["logging"]


def level(category: str) -> str:
    """The level from which a category is logged: that of its longest prefix, as the host's logging chooses it."""
    levels: dict[str, str] = LOGGING["logLevel"]
    prefixes = [name for name in levels if name != "default" and (category == name or category.startswith(f"{name}."))]
    return levels[max(prefixes, key=len, default="default")]


def test_our_own_lines_and_requests_are_stored() -> None:
    """Alerts and workbook read both: a function's lines are in `Function.NAME.User`, requests in `Host.Results`."""
    assert {level(f"Function.{name}.User") for name in FUNCTIONS} == {"Information"}
    assert level("Host.Results") == "Information"
    named = {name.split(".")[1] for name in LOGGING["logLevel"] if name.startswith("Function.")}
    assert named == FUNCTIONS


@pytest.mark.parametrize(
    "category",
    [
        *(f"Function.{name}" for name in sorted(FUNCTIONS)),  # Executing, Executed, Trigger Details: for each call
        "Host.Aggregator",
        "Host.Triggers.Blobs",
        "Host.Bindings",
        "Azure.Core",
        "Microsoft.Azure.WebJobs.Script.WebHost.Middleware.SystemTraceMiddleware",
        "Worker.rpcWorkerProcess",
    ],
)
def test_what_the_host_says_of_each_call_is_not_stored(category: str) -> None:
    assert level(category) == "Warning"


def test_the_host_collects_nothing_that_nobody_reads() -> None:
    insights = LOGGING["applicationInsights"]
    assert (insights["enableDependencyTracking"], insights["enablePerformanceCountersCollection"]) == (False, False)
