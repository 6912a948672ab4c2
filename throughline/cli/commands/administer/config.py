"""`throughline config`: the settings with which a Spark platform reports to a receiver."""

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from shared.texts import suggestion
from throughline.cli.commands.local.up import typed
from throughline.cli.context.target import HOME, Home, local_receiver
from throughline.cli.platforms.configuration import (
    SCOPE,
    SECRET,
    VAULT,
    Configuration,
    Installation,
    as_text,
    configuration,
)
from throughline.cli.platforms.table import PLATFORMS
from throughline.cli.ui.console import fail, note, out, print_json
from throughline.cli.ui.options import AsJson, Key
from throughline.cli.ui.writing import writing
from throughline.local.toolchain.interpreter import InterpreterError
from throughline.local.toolchain.java import NoJavaError
from throughline.local.toolchain.versions import LISTENER_VERSION
from throughline.plan_jar import JAR, PlanJarError, plan_jar


def config(
    platform: Annotated[str, typer.Argument(help=", ".join(PLATFORMS))],
    *,
    url: Annotated[str, typer.Option(metavar="URL", help="The receiver, such as https://NAME.azurewebsites.net")] = "",
    namespace: Annotated[
        str, typer.Option(metavar="NAME", help="The jobs' namespace, such as the workspace's name")
    ] = "default",
    listener: Annotated[str, typer.Option(metavar="VERSION", help="openlineage-spark's version")] = LISTENER_VERSION,
    runtime: Annotated[str, typer.Option(metavar="VERSION", help="The platform's version, such as 15.4 or 2.0")] = "",
    transport: Annotated[str, typer.Option(metavar="http|file", help="http; on Fabric also file")] = "http",
    vault: Annotated[str, typer.Option(metavar="NAME", help="The Key Vault with the function key")] = VAULT,
    secret: Annotated[str, typer.Option(metavar="NAME", help="The name of the key's secret in that vault")] = SECRET,
    scope: Annotated[str, typer.Option(metavar="NAME", help="Databricks: the secret scope over that vault")] = SCOPE,
    folder: Annotated[
        str, typer.Option(metavar="FOLDER", help="Databricks: where jar and init script are. Fabric: where events go")
    ] = "",
    key: Key = "",
    plan: Annotated[
        bool, typer.Option("--plan/--no-plan", help="Add throughline-plan.jar, which sends Spark's plans")
    ] = True,
    output: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Write the files into this folder")] = None,
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Print what to set on Synapse, Databricks, Fabric or this machine, so that jobs report to a receiver.

    The output has Spark properties, steps, and properties that must not be set. It contains no key: a property refers
    to the key where the platform can look it up; otherwise a step adds it from Key Vault.

    The properties name two listeners: OpenLineage's, and the one of Spark's plans. --output also writes the jar of the
    second; --no-plan leaves it out.

        throughline config databricks-uc --url https://NAME.azurewebsites.net --namespace my-workspace
        throughline config synapse --url https://NAME.azurewebsites.net --vault my-vault --output build/synapse
        throughline config local
    """
    if platform not in PLATFORMS:
        fail(
            f"no platform {platform!r}: choose one of {', '.join(PLATFORMS)}.{suggestion(platform, PLATFORMS)}", code=2
        )
    if not url and platform != "local":
        fail("the receiver is not known: give --url", code=2)
    wanted_installation = Installation(
        url=url
        or (local_receiver(home) if platform == "local" else fail("the receiver is not known: give --url", code=2)),
        namespace=namespace,
        listener=listener,
        runtime=runtime,
        transport=transport,
        vault=vault,
        secret=secret,
        scope=scope,
        folder=folder,
        key=key,
        output=str(output or ""),
        plan_jar=str(_jar(output)) if plan else "",
        status="throughline status" if url else typed("status", home),
    )
    configured = configuration(platform, wanted_installation, today=datetime.now(UTC).date())
    if output:
        with writing(output):
            _write(configured, output)
            if plan:
                shutil.copyfile(plan_jar(), output / JAR)
    if as_json:
        print_json(configured)
    else:
        _show(configured, output)


def _jar(output: Path | None) -> Path:
    """Where the jar of plans lies, once the files are written."""
    try:
        jar_path = plan_jar()
    except (PlanJarError, NoJavaError, InterpreterError) as error:
        fail(f"{error} Or go on without Spark's plans: --no-plan.", code=2)
    return (output / JAR if output else jar_path).resolve()


def _write(configured: Configuration, folder: Path) -> None:
    """Write the files, readable by their owner only: the properties may hold a key, now or after a step."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {f"{configured.platform}.conf": as_text(configured.properties), **configured.files}.items():
        path = folder / name
        path.unlink(missing_ok=True)
        path.touch(mode=0o600)
        path.write_text(text)


def _show(configured: Configuration, folder: Path | None) -> None:
    def plain(text: str) -> None:
        out.print(text, markup=False, highlight=False, soft_wrap=True)

    out.print(f"[bold]{configured.platform}[/], runtime {configured.runtime}: ", end="")
    plain(configured.place)
    for sentence in configured.notes:
        note("note", sentence)
    if folder:
        for name in (f"{configured.platform}.conf", *configured.files):
            plain(f"  {folder / name}")
    else:
        plain(f"\n{as_text(configured.properties)}")
        for name, text in configured.files.items():
            out.print(f"[bold]{name}[/]\n")
            plain(text)
    out.print("[bold]Steps[/]")
    for number, step in enumerate(configured.steps, 1):
        plain(f"  {number}. {step}")
    out.print("\n[bold]Do not set[/]")
    for name, reason in configured.never.items():
        plain(f"  {name}: {reason}")
