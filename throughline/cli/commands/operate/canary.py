"""`throughline canary`: the whole way of one real pair of events, with the time of each hop."""

from contextlib import closing
from dataclasses import asdict
from typing import Annotated

import typer

from shared.canary.hops import PATIENCE, SLOW, Canary, Hop
from throughline.cli.checks.azure.deployed import Deployed, DeploymentQuery
from throughline.cli.checks.azure.reaching import reach
from throughline.cli.checks.findings import UNKNOWN, CheckResult, collected
from throughline.cli.checks.trial_run import findings, sender_of
from throughline.cli.commands.operate.doctor import deployed_parts
from throughline.cli.context.target import HOME, Home
from throughline.cli.deploy.azure_cli import AzureCli
from throughline.cli.ui.console import err, fail, out, plain, print_json
from throughline.cli.ui.options import AsJson, Environment, Group, Key, Subscription
from throughline.cli.ui.tables import print_table

OWNER = "command"


def canary(
    context: typer.Context,
    *,
    group: Group = "",
    subscription: Subscription = "",
    environment: Environment = "",
    url: Annotated[str, typer.Option(metavar="URL", help="The receiver; default: the deployment's")] = "",
    key: Key = "",
    patience: Annotated[float, typer.Option(metavar="SECONDS", help="Seconds to wait for the lineage")] = PATIENCE,
    slow: Annotated[
        float, typer.Option(metavar="SECONDS", help="A request that takes so long is too slow for a listener")
    ] = SLOW,
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Send one real pair of events the whole way, and say how long each hop took.

    A START and a COMPLETE of a job that does not exist go to the receiver as a listener posts them. Each hop is looked
    at: the answers, the blobs in storage, the run that the parser folds, the process in the catalog with its new
    column. Then a FAIL of the run takes everything away again, also after a failure or Ctrl-C. The events count as
    skipped (`check`); no list, page or lake shows them.

    With --group the key is read by `az`, unless --key gives one, and a token of Entra ID is sent where the receiver
    asks for it. The sweeper does the same on a timer where THROUGHLINE_CANARY_URL is set, with an alert of its own.

    Exit code: 0 it went all the way, 1 a hop failed, 2 wrong arguments.

        throughline canary
        throughline canary --group GROUP
        throughline canary --group GROUP --json
        THROUGHLINE_KEY=... throughline canary --group GROUP --url https://RECEIVER
    """
    query = DeploymentQuery(group=group, environment=environment, subscription=subscription) if group else None
    deployed = reached(query) if query else None
    parts = deployed_parts(context, home, deployed)
    if isinstance(parts, CheckResult):
        fail(f"{parts.found}. {parts.means} Try: {parts.command}")
    hops: list[Hop] = []
    sender = sender_of(home, deployed, url=url, key=key)
    flight = Canary(context=parts, names=parts.names, send=sender.send, owner=OWNER, patience=patience, slow=slow)
    with closing(flight.hops(flight.run())) as steps, err.status("waiting for the receiver") as status:
        for hop in steps:
            hops.append(hop)
            status.update(f"{plain(hop.name)}: {plain(hop.outcome)}; waiting for the next hop")
    places = {**(deployed.places if deployed else UNKNOWN), "url": sender.url}
    _show(hops, list(findings(hops, places)), as_json=as_json)
    if any(hop.problem for hop in hops):
        raise typer.Exit(1)


def reached(query: DeploymentQuery) -> Deployed:
    """The deployment that is meant; ends the command with one sentence where there is none."""
    results, deployed = collected(reach(AzureCli(subscription=query.subscription), query))
    return deployed or fail(f"{results[-1].found}. {results[-1].means} Try: {results[-1].command}")


def _show(hops: list[Hop], results: list[CheckResult], *, as_json: bool) -> None:
    total = sum(hop.seconds for hop in hops)
    if as_json:
        rows = [{"seconds": round(hop.seconds, 3), **asdict(result)} for hop, result in zip(hops, results, strict=True)]
        print_json({"good": all(result.good for result in results), "seconds": round(total, 3), "hops": rows})
        return
    table = [(hop.name, f"{hop.seconds:.2f}", "failed" if hop.problem else "good", hop.outcome) for hop in hops]
    notes = [(result.means, result.command) if result.means else () for result in results]
    print_table(("hop", "seconds", "state", "found"), table, numbers={"seconds"}, notes=notes)
    out.print(f"{len(hops)} hops in {total:.1f} s")
