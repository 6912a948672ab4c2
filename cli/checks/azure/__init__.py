"""`throughline doctor --group`: a deployment in Azure, looked at from outside. It reads, and changes nothing."""

from collections.abc import Callable, Generator, Iterator

from cli.checks.azure import apps, events, host, rights
from cli.checks.azure.apps import App
from cli.checks.azure.deployed import Deployed, Target
from cli.checks.azure.reaching import reach
from cli.checks.azure.reading import Az, guarded, not_seen
from cli.checks.findings import Finding
from cli.deploy.azure_cli import AzureCliError

__all__ = ["Az", "Deployed", "Target", "check_deployment"]

Look = Callable[[Deployed, App], Iterator[Finding]]

_OF_EACH_APP: tuple[tuple[str, Look], ...] = (
    ("roles", rights.roles),
    ("runtime", apps.runtime),
    ("settings", apps.settings),
    ("secrets", apps.secrets),
    ("host", host.status),
    ("at /", host.root),
    ("functions", apps.code),
)
_OF_WORKER: tuple[tuple[str, Look], ...] = (
    ("webhook key", events.webhook_key),
    ("Event Grid", events.subscription),
    ("deliveries", events.deliveries),
)
_BEHIND: tuple[tuple[str, Look], ...] = (
    ("poison queue", events.poison),
    ("receipts", events.receipts),
)


def check_deployment(az: Az, target: Target) -> Generator[Finding, None, Deployed | None]:
    """Every part of a deployment: a finding at a time; then the deployment, None where it was not reached.

    A part that cannot be looked at hides no other.
    """
    try:
        deployed = yield from reach(az, target)
    except AzureCliError as error:
        yield not_seen(error, "deployment", target.places({}))
        return None
    if deployed is None:
        return None
    places = deployed.places
    found: list[App] = []

    def sites() -> Iterator[Finding]:
        found.extend((yield from apps.apps_of(deployed)))

    stopped: set[str] = set()
    for finding in guarded("apps", sites, places):
        stopped |= {finding.subject} if finding.code == "app-stopped" else set()
        yield finding
    running = [app for app in found if app.part not in stopped]
    yield from guarded("storage account", lambda: rights.network(deployed, tuple(found)), places)
    for app in running:
        yield from _looks(deployed, app, _OF_EACH_APP)
    worker = next((app for app in running if app.part == "worker"), None)
    if worker:
        yield from _looks(deployed, worker, _OF_WORKER if deployed.by_event_grid else ())
        yield from _looks(deployed, worker, _BEHIND)
        yield from guarded("logs", lambda: host.logs(deployed, tuple(running)), places)
    yield from guarded("alerts", lambda: rights.alerts(deployed), places)
    return deployed


def _looks(deployed: Deployed, app: App, looks: tuple[tuple[str, Look], ...]) -> Iterator[Finding]:
    for subject, look in looks:
        yield from guarded(f"{app.part} {subject}", lambda look=look: look(deployed, app), app.places)
