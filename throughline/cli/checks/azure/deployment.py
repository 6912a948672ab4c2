"""All checks of a deployment, some at a time, as a stream of findings."""

from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from throughline.cli.checks.azure import apps, events, host, rights, settings
from throughline.cli.checks.azure.apps import FunctionApp
from throughline.cli.checks.azure.deployed import Deployed, DeploymentQuery
from throughline.cli.checks.azure.reaching import reach
from throughline.cli.checks.azure.reading import guarded, not_seen
from throughline.cli.checks.findings import CheckResult
from throughline.cli.deploy.azure_cli import Az, AzureCliError

Look = Callable[[Deployed, FunctionApp], Iterator[CheckResult]]

_OF_EACH_APP: tuple[tuple[str, Look], ...] = (
    ("roles", rights.roles),
    ("runtime", apps.runtime),
    ("settings", settings.settings),
    ("secrets", settings.secrets),
    ("host", host.status),
    ("functions", apps.code),
)
_OF_PART: Mapping[str, tuple[tuple[str, Look], ...]] = {
    "receiver": (("at /", host.root),),  # only Event Grid may call the worker
    "worker": (
        ("Event Grid", events.subscription),
        ("deliveries", events.deliveries),
        ("poison queue", events.poison),
    ),
    apps.LINEAGE: (("sign-in", apps.sign_in),),
}


def check_deployment(az: Az, target: DeploymentQuery) -> Generator[CheckResult, None, Deployed | None]:
    """Every part of a deployment: a finding at a time; then the deployment, None where it was not reached.

    A part that cannot be looked at hides no other.
    """
    try:
        deployed = yield from reach(az, target)
    except AzureCliError as error:
        yield not_seen(error, "deployment", target.places)
        return None
    if deployed is None:
        return None
    places = deployed.places
    function_apps: list[FunctionApp] = []

    def sites() -> Iterator[CheckResult]:
        function_apps.extend((yield from apps.apps_of(deployed)))

    stopped_apps: set[str] = set()
    for finding in guarded("apps", sites, places):
        stopped_apps |= {finding.subject} if finding.code == "app-stopped" else set()
        yield finding
    running = [app for app in function_apps if app.part not in stopped_apps]
    yield from _at_once(deployed, _looks(deployed, function_apps, running))
    return deployed


_Named = tuple[str, Callable[[], Iterator[CheckResult]]]


def _looks(deployed: Deployed, function_apps: list[FunctionApp], running: list[FunctionApp]) -> Iterator[_Named]:
    """What is to be looked at of these apps, with the subject's name; a stopped app is not asked."""
    yield "storage account", partial(rights.network, deployed, tuple(function_apps))
    for app in running:
        yield from ((f"{app.part} {subject}", partial(look, deployed, app)) for subject, look in _OF_EACH_APP)
        yield from ((subject, partial(look, deployed, app)) for subject, look in _OF_PART[app.part])
    yield "logs", partial(host.logs, deployed, tuple(running))
    yield "alerts", partial(rights.alerts, deployed)


_AT_ONCE = 6
"""Calls of `az` at a time: each is a process of its own, and takes a second to start."""


def _at_once(deployed: Deployed, looks: Iterator[_Named]) -> Iterator[CheckResult]:
    """All looks, some at a time; their findings in the order of the looks."""

    def whole(named: _Named) -> list[CheckResult]:
        return list(guarded(*named, deployed.places))

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for findings in pool.map(whole, looks):
            yield from findings
