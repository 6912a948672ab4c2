"""What `python -m throughline.cli.deploy` does: its options, the order of the steps, and what is printed at the end."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from throughline.cli.deploy.azure_cli import AzureCli, AzureCliError, sender_token
from throughline.cli.deploy.packaging import build, build_lineage, checked, lineage_beside
from throughline.cli.deploy.progress import DeployError, PollLimits, Progress
from throughline.cli.deploy.receiver import ROUTE, DeployedReceiver, post_nothing
from throughline.cli.deploy.record import deploy_template, last_good
from throughline.cli.deploy.target import Target, from_azd, from_azure
from throughline.cli.deploy.worker import deploy_lineage, deploy_worker

PACKAGE = "THROUGHLINE_PACKAGE"
"""Names an archive to deploy, as --package does, where azd starts this: a pipeline deploys the one that it tested."""

NO_PROBE = "THROUGHLINE_NO_PROBE"
"""Set to anything, it means --no-probe, where azd or a pipeline starts this."""

_STOPPED = 130
_DESCRIPTION = "Build the packages of the functions and deploy them to the apps of one Throughline in Azure."
_MORE = """\
steps:
  1. make the package, for the way that the deployment delivers events (--package: take one that is there)
  2. deploy it to the receiver's slot, with production's keys, and wait until this very package answers there
  3. deploy the worker; with Event Grid, wait for its key and subscribe it to new events
  4. swap the slot into production, look at it for 20 seconds, and swap back if it refuses keys or does not work
  5. where the deployment has a lineage page, deploy its own package, and look whether it asks people to sign in
Where there is no slot, or nothing answers yet, worker and receiver are deployed straight, one after the other.
The worker goes before the swap because it reads what the receiver writes: a new worker reads what an old receiver has
written, an old worker need not read what a new receiver writes. Events that come meanwhile wait in storage.

examples:
  az deployment group create --resource-group lineage --name throughline --parameters infra/lineage.bicepparam
  python3 -m throughline.cli.deploy lineage              deploy what this folder holds
  python3 -m throughline.cli.deploy lineage --package throughline.zip
  python3 -m throughline.cli.deploy lineage --rollback   swap the receiver's version before back
  python3 -m throughline.cli.deploy lineage --template   deploy infra/main.bicep again, with the parameters on record
  azd deploy                                             the code, with the names that azd knows

Azure is called by the Azure CLI, signed in by `az login`. Running this again is safe at any time.
"""


def main(arguments: Sequence[str] | None = None, environment: Mapping[str, str] | None = None) -> int:
    """Run the command line: 0; 1 with a message where it could not be done; 2 for wrong words; 130 after Ctrl-C."""
    environment = os.environ if environment is None else environment
    parser = _parser()
    options = parser.parse_args(arguments)
    if not (options.group or environment.get("AZURE_RESOURCE_GROUP")):
        parser.error("name the resource group, as in: python3 -m throughline.cli.deploy GROUP")
    progress = Progress()
    try:
        _run(options, environment, progress)
    except (DeployError, AzureCliError) as error:
        sys.stderr.write(f"error: {error}\n{_so_far(progress)}")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write(
            "\nStopped; what Azure has begun, it may still finish. Running the same command again is safe.\n"
            f"{_so_far(progress)}"
        )
        return _STOPPED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python3 -m throughline.cli.deploy",
        description=_DESCRIPTION,
        epilog=_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "group", nargs="?", default="", help="the resource group; without it: azd's (AZURE_RESOURCE_GROUP)"
    )
    parser.add_argument(
        "--environment", default="", help="the parameter environmentName, where the group holds several environments"
    )
    parser.add_argument(
        "--subscription", default="", help="its id or name; without it: AZURE_SUBSCRIPTION_ID, else az's own"
    )
    parser.add_argument(
        "--package",
        type=Path,
        default=None,
        help="deploy this archive instead of making one; the lineage page's is beside it, as NAME-lineage.zip",
    )
    parser.add_argument(
        "--wait", type=float, default=300.0, metavar="SECONDS", help="for each of the waits, at most (300)"
    )
    parser.add_argument(
        "--no-probe", dest="probe", action="store_false", help="do not ask the receiver whether it works"
    )
    parser.add_argument(
        "--rollback", action="store_true", help="swap the receiver's version before back, and nothing else"
    )
    parser.add_argument(
        "--template",
        action="store_true",
        help="deploy infra/main.bicep with the parameters of the last good deployment, and nothing else",
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="with --template: another value of a parameter"
    )
    return parser


def _run(options: argparse.Namespace, environment: Mapping[str, str], progress: Progress) -> None:
    az = AzureCli(subscription=options.subscription or environment.get("AZURE_SUBSCRIPTION_ID", ""))
    group = options.group or environment.get("AZURE_RESOURCE_GROUP", "")
    if options.group or options.template:  # outputs of another environment may be left in this shell
        with progress.step(f"look for the last good deployment in {group}"):
            record = last_good(az, group, options.environment)
        if options.template:
            deploy_template(az, group, record, _changes(options.set), progress)
            return
        target = from_azure(group, record.name, record.outputs)
    else:
        target = from_azd(environment)
    limits = PollLimits(seconds=options.wait)
    probe = options.probe and not environment.get(NO_PROBE)
    post = partial(post_nothing, token=sender_token(az, target.application)) if probe else post_nothing
    receiver = DeployedReceiver(az=az, target=target, limits=limits, progress=progress, probe=probe, post=post)
    if options.rollback:
        receiver.roll_back()
        sys.stdout.write(
            f"Rolled back: {target.receiver} runs the version before. The worker is as it was; it reads what both "
            "versions write. To take it back as well: git checkout TAG, then this command without --rollback\n"
        )
        return
    package_option = options.package or (Path(environment[PACKAGE]) if environment.get(PACKAGE) else None)
    page = lineage_beside(package_option) if target.lineage and package_option else None
    package = checked(package_option or build(target.delivery, progress), target.delivery)
    if target.lineage and not package_option:
        page = build_lineage(progress)
    receiver.deploy(package, partial(deploy_worker, az, target, limits=limits, progress=progress))
    if page:
        deploy_lineage(az, target, page, limits=limits, progress=progress, probe=probe)
    sys.stdout.write(_left_to_do(target))


def _changes(pairs: Sequence[str]) -> Mapping[str, str]:
    """The changed parameters by name. Raises DeployError for what is no NAME=VALUE."""
    if wrong := [pair for pair in pairs if "=" not in pair]:
        raise DeployError(f"--set takes NAME=VALUE, not {wrong[0]!r}")
    return dict(pair.split("=", 1) for pair in pairs)


def _left_to_do(target: Target) -> str:
    page = (
        f"\n  The lineage page:    {target.lineage_url} (docs/operate/lineage-app.md says who may see it)"
        if target.lineage
        else ""
    )
    return f"""
Deployed.
  The receiver:        {target.receiver_url}{ROUTE} (RECEIVER in docs/operate/deploy.md is {target.receiver})
  The storage account: {target.storage} (STORAGE there){page}
Left to do, once:
  1. Let the worker write lineage, and find scanned assets, in Purview (docs/operate/deploy.md, step 4), by a
     collection administrator; until then lineage waits:
       throughline purview grant --account PURVIEW --collection COLLECTION --principal {target.worker_principal}
       throughline purview grant --account PURVIEW --collection PURVIEW --principal {target.worker_principal} \
         --role purview-reader
  2. Make a key for each platform (step 5), see it work (step 6), connect Spark (step 7).
"""


def _so_far(progress: Progress) -> str:
    return f"Done before: {'; '.join(progress.done)}.\n" if progress.done else "Nothing was changed.\n"
