"""`throughline config`: how a Spark platform reports to a receiver."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from cli.context.target import HOME, Home
from cli.platforms.configuration import Configuration, PlatformError, Wanted, as_text, configuration
from cli.platforms.table import PLATFORMS
from cli.ui.console import fail, note, out
from local.toolchain.versions import LISTENER_VERSION
from local.world import running_world


def config(
    platform: Annotated[str, typer.Argument(help=", ".join(PLATFORMS))],
    *,
    url: Annotated[str, typer.Option(help="The receiver, as https://NAME.azurewebsites.net")] = "",
    namespace: Annotated[str, typer.Option(help="What the jobs belong to: a workspace's name, say")] = "default",
    listener: Annotated[str, typer.Option(help="The version of openlineage-spark")] = LISTENER_VERSION,
    runtime: Annotated[str, typer.Option(help="The platform's version: 15.4, 2.0 …; its page lists them")] = "",
    transport: Annotated[str, typer.Option(help="http; on Fabric also file")] = "http",
    vault: Annotated[str, typer.Option(help="The Key Vault that holds the function key")] = Wanted(url="").vault,
    secret: Annotated[str, typer.Option(help="… and its name there")] = Wanted(url="").secret,
    scope: Annotated[str, typer.Option(help="Databricks: the secret scope over that vault")] = Wanted(url="").scope,
    folder: Annotated[str, typer.Option(help="Databricks: where jar and script lie. Fabric: where events are")] = "",
    key: Annotated[str, typer.Option(envvar="THROUGHLINE_KEY", help="local: the function key, if it needs one")] = "",
    output: Annotated[Path | None, typer.Option(help="Write the files into this folder")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines")] = False,
    home: Home = HOME,
) -> None:
    """Say what to set on Synapse, Databricks, Fabric or here, so that jobs report to a receiver.

    Prints the Spark properties, the steps around them, and what must not be set. No key is printed: where a platform
    can look it up it gets its name, elsewhere a step adds it from Key Vault.

    \b
    throughline config databricks-uc --url https://NAME.azurewebsites.net --namespace my-workspace
    throughline config synapse --url https://NAME.azurewebsites.net --vault my-vault --output build/synapse
    throughline config local
    """  # noqa: D301 - \b keeps the lines of the examples apart
    if platform not in PLATFORMS:
        fail(f"no platform {platform!r}: there are {', '.join(PLATFORMS)}", code=2)
    wanted = Wanted(
        url=url or _here(platform, home),
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
    )
    try:
        found = configuration(platform, wanted, today=datetime.now(UTC).date())
    except PlatformError as problem:
        fail(str(problem), code=2)
    if output:
        _write(found, output)
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=2))
    else:
        _show(found, output)


def _here(platform: str, home: Path) -> str:
    world = running_world(home) if platform == "local" else None
    if world is None:
        fail(f"no receiver: give --url{', or start a world with `make up`' if platform == 'local' else ''}", code=2)
    return world.receiver_url


def _write(found: Configuration, folder: Path) -> None:
    """The files, readable by their owner alone: on this machine the properties may hold a key, and a step adds one."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {f"{found.platform}.conf": as_text(found.properties), **found.files}.items():
        path = folder / name
        path.unlink(missing_ok=True)
        path.touch(mode=0o600)
        path.write_text(text)


def _show(found: Configuration, folder: Path | None) -> None:
    def plain(text: str) -> None:
        out.print(text, markup=False, highlight=False, soft_wrap=True)

    out.print(f"[bold]{found.platform}[/], runtime {found.runtime}: ", end="")
    plain(found.place)
    for sentence in found.notes:
        note("note", sentence)
    if folder:
        for name in (f"{found.platform}.conf", *found.files):
            plain(f"  {folder / name}")
    else:
        plain(f"\n{as_text(found.properties)}")
        for name, text in found.files.items():
            out.print(f"[bold]{name}[/]\n")
            plain(text)
    out.print("[bold]Steps[/]")
    for number, step in enumerate(found.steps, 1):
        plain(f"  {number}. {step}")
    out.print("\n[bold]Leave alone[/]")
    for name, reason in found.never.items():
        plain(f"  {name}: {reason}")
