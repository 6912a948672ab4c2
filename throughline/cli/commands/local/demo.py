"""`throughline demo`: from real Spark jobs to a lineage graph."""

import contextlib
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlencode

import typer

from shared.atlas.types import COLUMN_TYPE, own_column
from shared.bootstrap import Worker, assemble
from shared.catalog.port import Node, apply_types
from shared.lineage.questions import LineageIndex
from shared.lineage.steps import lineage_of
from shared.query.recorded_document import document_of_record
from shared.reading.processes import recorded
from shared.reporting.status import Status
from shared.reporting.status import status as reporting_status
from shared.serving.view import page
from shared.settings.reading import load
from shared.sweeping.sweep import sweep
from throughline.cli.commands.lineage import show, status
from throughline.cli.commands.local.up import FreePorts, WithFunc, started_world, typed
from throughline.cli.context.target import HOME, Home
from throughline.cli.ui.console import err, fail, out, plain, print_tree
from throughline.local.atlas import PASSWORD, USER, USUAL_PORT, AtlasServer
from throughline.local.running_world import running_world
from throughline.local.spark.job import QUICK_SESSION, SparkJob, listener_configuration
from throughline.local.spark.truth import Truth
from throughline.local.toolchain.interpreter import Interpreter, made_for, own
from throughline.local.toolchain.java import JavaHome, JavaNeed, find_java
from throughline.local.toolchain.versions import SPARK_3, SPARK_4, Platform
from throughline.local.world import World
from throughline.plan_jar import plan_configuration, plan_jar
from throughline.project import ROOT

EXAMPLES = ROOT / "examples"
JOBS = ("customer_master", "customer_merge")
PLATFORMS: dict[str, Platform] = {"3": SPARK_3, "4": SPARK_4}
_COLUMN = "full_name"
"""A column that is made of two others, in both examples."""
_PATIENCE_SECONDS = 120
_POLL_SECONDS = 0.5


def demo(
    *,
    free_ports: FreePorts = False,
    func: WithFunc = False,
    home: Home = HOME,
    spark: Annotated[Literal["3", "4"], typer.Option(help="Spark 3.5 or Spark 4.1")] = "3",
    catalog: Annotated[
        Literal["local", "atlas"], typer.Option(help="Write to the local catalog, or to a real Apache Atlas")
    ] = "local",
    stay: Annotated[bool, typer.Option(help="With --catalog atlas: keep it running until Ctrl-C")] = True,
) -> None:
    """Run the example jobs on real Spark with the real listener, and show their lineage.

    The demo starts the local world, runs examples/customer_master.py and examples/customer_merge.py, waits until all
    events are processed, and compares the lineage with examples/*.truth.json. Data is kept: a second demo adds nothing
    to the catalog. The first `--spark 4` installs Spark 4.1 in build/spark4.

    With --catalog atlas, catalog and world start empty each time, in the world's folder `atlas`; the demo ends with the
    addresses of Atlas' own web page.

        throughline demo
        throughline demo --free-ports
        throughline demo --spark 4
        throughline demo --func
        throughline demo --catalog atlas
    """
    if " " in _data(home):
        problem = f"the listener reports no output of a Delta folder with a blank in its path ({_data(home)})"
        fail(f"{problem}: name a folder without one by --home", code=2)
    platform = PLATFORMS[spark]
    java, interpreter = find_java(JavaNeed(platform=platform, listener=True)), _interpreter(platform)
    plan_jar()  # built before anything starts, so that a problem shows at once
    atlas, home = _atlas(home, free_ports=free_ports) if catalog == "atlas" else (None, home)
    with started_world(home=home, usual_ports=not free_ports, func=func, atlas=atlas) as world:
        parts = assemble(load(catalog=True, environment=world.environment))
        if parts.types and atlas:
            applied = apply_types(parts.types)
            out.print(f"types     {len(applied.changes):,} created in this Atlas, as by `throughline types apply`")
        calls_before = None if atlas else world.catalog.calls()
        for job in JOBS:
            _run(job, world, platform, java, interpreter)
        event_counts = _final_counts(parts, world)
        _report(parts, event_counts, _data(world.home))
        if calls_before:
            _count(calls_before, world.catalog.calls())
        _check(parts, world, event_counts)
        out.print("[green]✓[/] every table and column has the lineage that examples/*.truth.json expect")
        seen_path = _save_page(parts, world)
        if atlas:
            _links(parts, atlas, _data(world.home), stay=stay)
            return
    out.print("\nSee it as a page, with search and the way of each column:\n")
    out.print(f"  python3 -m webbrowser -t {plain(seen_path.resolve().as_uri())}", soft_wrap=True)
    out.print("\nNext: keep the world running, and let it print the settings for your own jobs:\n")
    out.print(f"  {typed('up', home)}")
    out.print("\nThen, in another terminal:\n")
    for words in ("view", "show delta/customer_master --columns", "status --wide"):
        out.print(f"  {typed(words, home)}")


def _save_page(parts: Worker, world: World) -> Path:
    """Save the lineage of the record as a page, opened at a column that is made of two others."""
    document = document_of_record(parts.storage, parts.publishing)
    path = world.home / "lineage.html"
    start = urlencode({"asset": next(_ends(parts, _data(world.home))).qualified_name, "column": _COLUMN})
    path.write_bytes(page(document, start))
    return path


def _check(parts: Worker, world: World, event_counts: Status) -> None:
    """End the command where the lineage is not that of the examples, or events are still in progress."""
    if wrong := differences(parts, world):
        fail("\n  ".join(("the lineage differs from examples/*.truth.json:", *wrong)))
    if number := event_counts.in_progress:
        command = typed("status", world.home)
        fail(f"{number} events were not processed in {_PATIENCE_SECONDS} s: `{command}` shows what they wait for")


def _atlas(home: Path, *, free_ports: bool) -> tuple[AtlasServer, Path]:
    """An Atlas that is not started yet, and the folder of a world that starts empty, as Atlas does."""
    home = home / "atlas"
    if not running_world(home):
        shutil.rmtree(home, ignore_errors=True)
    return AtlasServer(port=0 if free_ports else USUAL_PORT, home=home / "atlas-data"), home


def _interpreter(platform: Platform) -> Interpreter:
    """The Python that has this Spark: this one has 3.5, another version has an environment of its own."""
    if platform == SPARK_3:
        return own()
    with err.status(f"looking for Spark {platform.short} in build (the first time installs it)"):
        return made_for(platform)


def _run(job: str, world: World, platform: Platform, java: JavaHome, interpreter: Interpreter) -> None:
    """Run one example to its end."""
    began = time.monotonic()
    with (
        err.status(f"running examples/{job}.py on Spark {platform.short} (the first time downloads the listener)"),
        SparkJob(
            EXAMPLES / f"{job}.py",
            configuration=job_configuration(world.functions.url, platform),
            directory=world.home / "jobs" / job,
            arguments=("--data", str(world.home / "data")),
            java=java,
            interpreter=interpreter,
        ) as running,
    ):
        result = running.wait()
    if result.problem:
        fail(result.problem)
    if result.unsent:
        err.print(f"[yellow]the listener could not deliver {result.unsent} events, and keeps none[/]; see {result.log}")
    err.print(f"[green]✓[/] examples/{job}.py ran in {time.monotonic() - began:.0f} s")


def job_configuration(url: str, platform: Platform = SPARK_3) -> dict[str, str]:
    """The Spark properties of an example that reports to this receiver, with Spark's own plans.

    Raises PlanJarError.
    """
    return {**QUICK_SESSION, **listener_configuration(url, platform=platform), **plan_configuration()}


def _final_counts(parts: Worker, world: World) -> Status:
    """The counts, once nothing is in progress or the time is over."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    with err.status("looking at the events") as status_line:
        while True:
            event_counts = reporting_status(parts.storage)
            status_line.update(f"events: {event_counts.received} received, {event_counts.in_progress} in progress")
            calls = world.functions.calls()
            idle = not (event_counts.in_progress or event_counts.publish_queue or calls["in_flight"] or calls["queued"])
            if idle or time.monotonic() > deadline:
                return event_counts
            if not (calls["in_flight"] or calls["queued"]):  # a host that died may have left an event that has no row
                sweep(parts.storage, replace(parts.sweeping, grace=timedelta()))
            time.sleep(_POLL_SECONDS)


def _report(parts: Worker, event_counts: Status, data: str) -> None:
    out.print()
    index = LineageIndex(document_of_record(parts.storage, parts.publishing))
    for dataset in _ends(parts, data):
        print_tree(show.lineage_tree(lineage_of(index, index.dataset(dataset.qualified_name)), columns=True))
    out.print()
    status.show(event_counts)


def _ends(parts: Worker, home: str) -> Iterator[Node]:
    """The data set at the end of each example."""
    for name in ("files/customer_master", "delta/customer_master"):
        yield from (node for node in parts.catalog.search(name) if node.qualified_name.endswith(f"{home}/{name}"))


def differences(parts: Worker, world: World) -> list[str]:
    """Differences of the record from the examples' truths, and of the catalog from the record; empty when equal."""
    data = _data(world.home)
    on_record = [pair for pair in recorded(parts.storage, parts.publishing) if pair[0].outputs[0].name.startswith(data)]
    truth = Truth.of(*(EXAMPLES / f"{job}.truth.json" for job in JOBS))
    problems = truth.differences(process for process, _ in on_record)
    held = parts.catalog.read_processes(entity.qualified_name for _, entity in on_record)
    for process, entity in on_record:
        held_process = held.get(entity.qualified_name)
        held_entity = held_process.entity if held_process else None
        if held_entity != entity:
            problems.append(f"{process.name}: the catalog holds {held_entity}, it should hold {entity}")
    return problems


def _count(calls_before: Mapping[str, int], calls_after: Mapping[str, int]) -> None:
    """Print what a run added to the local catalog."""
    writes, entities = (calls_after[name] - calls_before[name] for name in ("writes", "entities"))
    out.print(f"\nthis run: {writes} catalog writes, {entities} new entities ({calls_after['entities']} in all)")


def _links(parts: Worker, atlas: AtlasServer, data: str, *, stay: bool) -> None:
    """The addresses of the results on Atlas' own page, which ends with the demo: with `stay`, after Ctrl-C."""
    out.print(f"\nApache Atlas shows it on its own page (user {USER}, password {PASSWORD}):")
    for node in _ends(parts, data):
        out.print(f"  {plain(node.name)}  {atlas.page(node.guid)}")
        column = own_column(node.key, _COLUMN)
        for guid in parts.catalog.find([(COLUMN_TYPE, column.qualified_name)]).values():
            out.print(f"  {plain(column.name)}  {atlas.page(guid)}")
    if stay:
        out.print("\nCtrl-C ends Atlas and the demo.")
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


def _data(home: Path) -> str:
    """The folder that the examples write to."""
    return (home / "data").resolve().as_posix()
