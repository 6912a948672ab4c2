"""`throughline prove`: try in a subscription what rests on documentation alone."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from shared.bootstrap import Worker, assemble
from shared.settings.reading import load
from shared.telemetry.port import Telemetry
from throughline.cli.checks.azure.deployed import Deployed, DeploymentQuery
from throughline.cli.checks.azure.settings import place_of
from throughline.cli.checks.findings import CheckResult
from throughline.cli.checks.trial_run import sender_of
from throughline.cli.commands.operate.canary import reached
from throughline.cli.commands.operate.doctor import deployed_parts
from throughline.cli.context.target import HOME, Home
from throughline.cli.prove.evidence import ProofContext, Verdict
from throughline.cli.prove.proving import ClaimResult, Proof, chosen
from throughline.cli.prove.proving import prove as run_proofs
from throughline.cli.ui.console import err, fail, out, plain
from throughline.cli.ui.interrupt import INTERRUPTED
from throughline.cli.ui.options import Environment, Subscription, Yes, confirm

FORMAT = 1
_STYLES = {Verdict.PROVED: "green", Verdict.REFUTED: "bold red", Verdict.NOT_RUN: "yellow"}


def prove(
    context: typer.Context,
    *,
    group: Annotated[str, typer.Option(metavar="GROUP", help="The resource group of the deployment to try")],
    subscription: Subscription = "",
    environment: Environment = "",
    purview: Annotated[
        str, typer.Option(metavar="NAME", help="Also try the claims about this Purview account, the deployment's")
    ] = "",
    throttle: Annotated[bool, typer.Option("--throttle", help="Also provoke that the catalog throttles")] = False,
    only: Annotated[list[str] | None, typer.Option(metavar="ID", help="Try this claim alone; may be repeated")] = None,
    patience: Annotated[float, typer.Option(metavar="SECONDS", help="Seconds to wait for lineage")] = 180,
    save: Annotated[Path, typer.Option(metavar="FILE", help="Where the report is written")] = Path("prove.json"),
    yes: Yes = False,
    home: Home = HOME,
) -> None:
    """Try in your subscription what rests on documentation alone: each claim is proved, refuted or not run.

    Take a deployment for tests: one trial swaps its receiver, one stops it. Before anything is created or disturbed,
    the command says what, and asks. Whatever it makes it takes away again, also after Ctrl-C. The claims are those of
    docs/reference/unproven.md; some of them only people can try.

    The report (--save) has verdicts, numbers, codes and types. It has no secrets and no names of yours: send it to the
    project as it is.

    Exit code: 0 nothing is refuted, 1 a claim is refuted, 2 wrong arguments, 130 after Ctrl-C.

        throughline prove --group GROUP
        throughline prove --group GROUP --purview NAME
        throughline prove --group GROUP --only canary --only keys --yes
        throughline prove --group GROUP --purview NAME --throttle --save report.json
    """
    try:
        proofs = chosen(only or ())
    except LookupError as error:
        fail(f"--only: {error.args[0]}. The ids: docs/reference/unproven.md", code=2)
    deployed = reached(DeploymentQuery(group=group, environment=environment, subscription=subscription))
    account = str(deployed.parameters.get("purviewAccountName") or "")
    if purview and purview.lower() != account.lower():
        fail(f"--purview: the deployment writes to {account}, not to {purview}", code=2)
    options = frozenset({"--purview"} if purview else ()) | frozenset({"--throttle"} if throttle else ())
    parts = deployed_parts(context, home, deployed)
    if isinstance(parts, CheckResult):
        fail(f"{parts.found}. {parts.means} Try: {parts.command}")
    trial = ProofContext(
        deployed=deployed,
        parts=parts,
        sender=sender_of(home, deployed, url="", key=""),
        unlimited=_unlimited(context, deployed, parts),
        patience=patience,
    )
    planned = [proof for proof in proofs if proof.effect and (not proof.option or proof.option in options)]
    for proof in planned:
        err.print(f"  [bold]{proof.name}[/]  {plain(proof.effect)}")
    if planned:
        confirm(f"Do this in {group}?", yes=yes)
    results: list[ClaimResult] = []
    for result in run_proofs(trial, proofs, options, partial(_agrees, yes=yes)):
        results.append(result)
        _show(result)
    _save(save, results)
    counts = Counter(result.evidence.verdict for result in results)
    numbers = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict)
    out.print(f"{numbers}; {plain(save)} has the report")
    if any("interrupted" in result.evidence.reason for result in results):
        raise typer.Exit(INTERRUPTED)
    if counts[Verdict.REFUTED]:
        raise typer.Exit(1)


def _unlimited(context: typer.Context, deployed: Deployed, parts: Worker) -> Callable[[Telemetry], Worker]:
    """The same parts, which report their calls, without our own limit of calls to the catalog."""

    def unlimited(telemetry: Telemetry) -> Worker:
        if isinstance(context.obj, Worker):
            return parts
        settings = load(catalog=True, overrides=place_of(deployed))
        if settings.catalog is None:
            return parts
        return assemble(replace(settings, catalog=replace(settings.catalog, rate=0)), telemetry)

    return unlimited


def _agrees(proof: Proof, *, yes: bool) -> bool:
    return yes or typer.confirm(f"{proof.name} {proof.effect}. Go on?", err=True)


def _show(result: ClaimResult) -> None:
    evidence, style = result.evidence, _STYLES[result.evidence.verdict]
    facts = ", ".join(f"{name} {value}" for name, value in evidence.facts.items())
    words = "; ".join(filter(None, (evidence.reason, facts)))
    out.print(f"[{style}]{evidence.verdict.value:8}[/]  [bold]{result.claim.id}[/]  {plain(words)}")


def _save(file: Path, results: Sequence[ClaimResult]) -> None:
    report = {
        "format": FORMAT,
        "version": version("throughline"),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "claims": [{"id": result.claim.id, **asdict(result.evidence), "seconds": result.seconds} for result in results],
    }
    file.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
