"""`throughline doctor`: check each part, and name the command that repairs it."""

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from shared.bootstrap import Worker, assemble
from shared.canary.hops import Canary
from shared.errors import CatalogRefused, CatalogUnavailable, Misconfigured
from shared.settings.reading import load, named
from throughline.cli.checks.azure.deployed import Deployed, DeploymentQuery
from throughline.cli.checks.azure.deployment import check_deployment
from throughline.cli.checks.azure.settings import place_of
from throughline.cli.checks.catalog import check_catalog, check_connection
from throughline.cli.checks.data import check_counts, check_settings, check_storage, forgetting
from throughline.cli.checks.findings import CheckResult, CheckState, bad, unseen
from throughline.cli.checks.machine import check_machine
from throughline.cli.checks.trial_run import ARRIVAL, findings, sender_of
from throughline.cli.checks.types import check_types
from throughline.cli.context.target import HOME, Home, parts_of
from throughline.cli.deploy.azure_cli import AzureCli, AzureCliError
from throughline.cli.ui.console import err, out, plain, print_json
from throughline.cli.ui.options import AsJson, Environment, Group, Key, Subscription

BAD, UNSEEN = 1, 3


def doctor(
    context: typer.Context,
    *,
    group: Group = "",
    subscription: Subscription = "",
    environment: Environment = "",
    catalog: Annotated[bool, typer.Option("--catalog", help="Check access to the catalog with a trial write")] = False,
    listener: Annotated[bool, typer.Option("--listener", help="Post two events, follow and withdraw them")] = False,
    url: Annotated[
        str,
        typer.Option(metavar="URL", help="--listener: the receiver; default: the deployment's"),
    ] = "",
    key: Key = "",
    patience: Annotated[float, typer.Option(metavar="SECONDS", help="--listener: seconds to wait for lineage")] = 120,
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Check each part of a Throughline, and name the command that repairs what is wrong.

    Without options it checks this machine, and storage, catalog and counts of the Throughline that the environment
    names, else of the local world. --group also checks a deployment in Azure, by `az`: sign-in, outputs, apps, roles,
    settings, secrets, host, Event Grid, sign-in of the lineage page, log and alerts. It only reads, and shows no key.

    --catalog writes a data set called `throughlinedoctor` and removes it. --listener posts two events as a listener
    does, follows them to the catalog, and withdraws them with a third one, as `throughline canary` does.

    Exit code: 0 all is good, 1 something is bad, 2 wrong arguments, 3 nothing is bad, but a part could not be checked.

        throughline doctor
        throughline doctor --listener
        throughline doctor --group GROUP
        throughline doctor --group GROUP --subscription NAME --json
        throughline doctor --group GROUP --catalog
        throughline doctor --group GROUP --listener
    """
    azure = DeploymentQuery(group=group, environment=environment, subscription=subscription) if group else None
    trial = partial(_followed, home=home, url=url, key=key, patience=patience) if listener else None
    report(_look(context, home, azure, trial, catalog=catalog), as_json=as_json)


def report(results: Iterator[CheckResult], *, as_json: bool) -> None:
    """Print findings as they come, or all as one JSON document; the worst one gives the exit code."""
    findings = []
    for finding in results:
        findings.append(finding)
        if not as_json:
            _show(finding)
    states = {finding.state for finding in findings}
    if as_json:
        print_json({"good": states <= {CheckState.GOOD}, "findings": findings})
    if states - {CheckState.GOOD}:
        raise typer.Exit(BAD if CheckState.BAD in states else UNSEEN)


_SIGNS = {CheckState.GOOD: "[green]good[/]", CheckState.BAD: "[bold red]bad[/] ", CheckState.UNSEEN: "[yellow]?[/]   "}


def _show(finding: CheckResult) -> None:
    out.print(f"{_SIGNS[finding.state]}  [bold]{plain(finding.subject)}[/]  {plain(finding.found)}")
    if finding.means:
        out.print(f"      {plain(finding.means)} [dim]({finding.code})[/]")
        out.print(f"      [bold]{plain(finding.command)}[/]")


def _look(
    context: typer.Context,
    home: Path,
    azure: DeploymentQuery | None,
    trial: Callable[[Worker, Deployed | None], Iterator[CheckResult]] | None,
    *,
    catalog: bool,
) -> Iterator[CheckResult]:
    yield from check_machine(local=not azure and not named(place=True))
    deployed = None
    if azure:
        deployed = yield from check_deployment(AzureCli(subscription=azure.subscription), azure)
        if deployed is None:
            return
    places = {**deployed.places, "scope": deployed.storage_id} if deployed else {}
    worker = deployed.outputs["WORKER_PRINCIPAL_ID"] if deployed else ""
    parts = deployed_parts(context, home, deployed)
    if isinstance(parts, CheckResult):
        yield parts
        return
    storage = list(check_storage(parts.storage, places))
    yield from storage
    connection = list(check_catalog(parts, worker=worker) if catalog else check_connection(parts))
    yield from connection
    if all(finding.good for finding in connection):
        yield from _answered("catalog types", check_types(parts))
    if all(finding.good for finding in storage):
        yield from check_settings(parts)
        yield from check_counts(parts.storage, places)
        yield forgetting(parts.sweeping.closing)
    if trial:
        with err.status("following both events"):
            yield from _answered(ARRIVAL, trial(parts, deployed))


def _followed(
    parts: Worker, deployed: Deployed | None, *, home: Path, url: str, key: str, patience: float
) -> Iterator[CheckResult]:
    """Post the events of --listener, which may take so many seconds: a finding for each hop."""
    sender = sender_of(home, deployed, url=url, key=key)
    canary = Canary(context=parts, names=parts.names, send=sender.send, owner="doctor", patience=patience)
    places = {**(deployed.places if deployed else {}), "url": sender.url}
    with closing(canary.hops(canary.run())) as hops:
        yield from findings(hops, places)


def _answered(subject: str, look: Iterator[CheckResult]) -> Iterator[CheckResult]:
    """The findings of a check; the catalog's error where it does not answer."""
    try:
        yield from look
    except (CatalogUnavailable, CatalogRefused) as error:
        yield bad("catalog-error", subject, str(error))
    except AzureCliError as error:
        yield unseen("azure-error", subject, " ".join(str(error).split()))


def deployed_parts(context: typer.Context, home: Path, deployed: Deployed | None) -> Worker | CheckResult:
    """The parts of the deployment, else of the Throughline that is meant; a finding where its settings are wrong."""
    if deployed is None or isinstance(context.obj, Worker):
        return parts_of(context, home)
    try:
        return assemble(load(catalog=True, overrides=place_of(deployed)))
    except (AzureCliError, Misconfigured) as error:
        return unseen("azure-error", "storage", " ".join(str(error).split()))
