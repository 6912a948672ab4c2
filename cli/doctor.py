"""`throughline doctor`: look at each part, and say what to do."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from cli.catalog_check import check_catalog
from cli.console import err, fail, out, plain, print_json
from cli.settings_check import check_settings
from cli.target import HOME, Home, parts_of
from cli.trial import Step, follow
from cli.types_check import check_types, error_step
from local.java import NoJavaError, find_java
from local.node import NodeError, find_node
from local.world import running_world
from shared import pipeline
from shared.bootstrap import Worker
from shared.errors import CatalogRefused, CatalogUnavailable, StorageUnavailable
from shared.places import EVENTS
from shared.settings import named

_TOO_LONG = timedelta(minutes=15)
_PYTHON = (3, 11)
_TO_CATALOG = ("network", "identity", "account", "collection", "role", "catalog")
_NOWHERE = ("azure_datalake_gen2_path", "https://throughlinedoctor.dfs.core.windows.net/doctor/nowhere")


def doctor(
    context: typer.Context,
    *,
    listener: Annotated[bool, typer.Option("--listener", help="Post a START and a COMPLETE and follow them")] = False,
    url: Annotated[str, typer.Option(help="The receiver; by default that of the world on this machine")] = "",
    catalog: Annotated[
        bool, typer.Option("--catalog", help="Look closely at the way to the catalog, and write and remove a trial")
    ] = False,
    key: Annotated[str, typer.Option(envvar="THROUGHLINE_KEY", help="Its function key")] = "",
    patience: Annotated[float, typer.Option(help="Seconds to wait for the catalog")] = 120,
    as_json: Annotated[bool, typer.Option("--json", help="The machine-readable form")] = False,
    home: Home = HOME,
) -> None:
    """Check this machine, storage, the catalog and the counts of a Throughline, and say what to do about each.

    The Throughline is the one that the environment names, else the world on this machine. With --catalog it tells apart
    a wrong account, no network, no role and a wrong collection, by writing a data set called `throughlinedoctor` and
    removing it again. With --listener it posts what a listener would post, and waits until the catalog has it: that
    leaves one process and two data sets of that name in the catalog, the same ones each time. Exit code 1 when
    something is not as it should be.

    \b
    throughline doctor
    throughline doctor --catalog
    throughline doctor --listener
    throughline doctor --listener --url https://NAME.azurewebsites.net --key ...
    """  # noqa: D301 - \b keeps the lines of the examples apart
    steps: list[Step] = []

    def tell(found: Iterator[Step]) -> None:
        for step in found:
            steps.append(step)
            if not as_json:
                _show(step)

    tell(_machine())
    parts = parts_of(context, home)
    tell(_careful("storage", lambda: _storage(parts)))
    tell(check_catalog(parts) if catalog else _careful("catalog", lambda: _catalog(parts)))
    tell(_careful("types", lambda: check_types(parts)) if _answered(steps, *_TO_CATALOG) else iter(()))
    if _answered(steps, "storage"):
        tell(_careful("settings", lambda: check_settings(parts)))
        tell(_careful("counts", lambda: _counts(parts)))
    if listener:
        world = running_world(home)
        receiver = url or (world.receiver_url if world else "")
        if not receiver:
            fail("no receiver: give --url, or start a world with `make up`", code=2)
        with err.status("following both events"):
            tell(_careful("listener", lambda: follow(parts, url=receiver, key=key, patience=patience)))
    if as_json:
        print_json({"good": all(step.good for step in steps), "steps": [asdict(step) for step in steps]})
    if not all(step.good for step in steps):
        raise typer.Exit(1)


def _answered(steps: list[Step], *names: str) -> bool:
    """Whether none of these steps is bad: what does not answer is not asked again."""
    return all(step.good for step in steps if step.name in names)


def _show(step: Step) -> None:
    sign = "[green]good[/]" if step.good else "[bold red]bad[/] "
    out.print(f"{sign}  [bold]{step.name}[/]  {plain(step.found)}")
    if step.advice:
        out.print(f"      {plain(step.advice)}")


def _careful(name: str, look: Callable[[], Iterator[Step]]) -> Iterator[Step]:
    """The steps; what a part itself says is wrong becomes one of them."""
    try:
        yield from look()
    except StorageUnavailable as error:
        advice = (
            "is the end point right, is a role granted to you (docs/azure.md, step 6), does its network let you in?"
        )
        yield Step(name=name, good=False, found=str(error), advice=advice)
    except (CatalogUnavailable, CatalogRefused) as error:
        advice = (
            "is the end point right, and does a Data Reader or Curator role of the collection name you (docs/azure.md)?"
        )
        yield Step(name=name, good=False, found=str(error), advice=advice)


def _machine() -> Iterator[Step]:
    """Python, and, unless the environment names a Throughline elsewhere, what the world on this machine needs."""
    yield Step(
        name="python",
        good=sys.version_info[:2] >= _PYTHON,
        found=".".join(map(str, sys.version_info[:3])),
        advice="" if sys.version_info[:2] >= _PYTHON else "install Python 3.11 and run `make setup` again",
    )
    if named(place=True):
        return
    try:
        java = find_java()
        yield Step(name="java", good=True, found=f"{java.version}, from {java.source}")
    except NoJavaError as error:
        yield Step(name="java", good=False, found=str(error), advice="run `make setup`")
    try:
        yield Step(name="node", good=True, found=str(find_node().node))
    except NodeError as error:
        yield Step(name="node", good=False, found=str(error), advice="run `make setup`")


def _storage(parts: Worker) -> Iterator[Step]:
    parts.storage.read("control", "doctor", "nothing")
    any_event = next(iter(parts.storage.blobs(EVENTS)), None)
    yield Step(name="storage", good=True, found="answers, " + ("holds events" if any_event else "has no event yet"))


def _catalog(parts: Worker) -> Iterator[Step]:
    parts.catalog.find([_NOWHERE])
    yield Step(name="catalog", good=True, found="answers")


def _counts(parts: Worker) -> Iterator[Step]:
    """What stands in the way of events that were received."""
    found = pipeline.status(parts.storage)
    yield Step(
        name="counts",
        good=found.reconciles,
        found=f"{found.received:,} received, {found.published:,} published, {found.skipped:,} skipped, "
        f"{found.waiting:,} waiting, {found.dead:,} dead",
        advice="" if found.reconciles else "they do not add up: please report it, with `throughline status --json`",
    )
    letters = "throughline deadletter list says why; docs/recovery.md what may help" if found.dead else ""
    yield Step(name="dead letters", good=not found.dead, found=f"{found.dead:,}", advice=letters)
    waited = datetime.now(UTC) - found.oldest_waiting if found.oldest_waiting and found.in_progress else timedelta()
    late = waited > _TOO_LONG
    since = f", the oldest for {waited.total_seconds() / 60:.0f} minutes" if late else ""
    yield Step(
        name="in progress",
        good=not late,
        found=f"{found.in_progress:,} events{since}",
        advice="do parser and sweeper run? the worker app's log tells" if late else "",
    )
    for sentence in found.last_errors:
        step = error_step(sentence)
        if step:  # the others are dead letters or refused bodies, and past
            yield step
