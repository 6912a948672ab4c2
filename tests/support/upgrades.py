"""The parts of an upgrade under load: another version of the app, hosts of a world, and senders that go on."""

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from shared.versions import PACKAGE_FILE
from tests.bench.replay import Replay
from tests.support.events import event
from tests.support.front import Front, HeldRequest
from tests.support.listener import Listener
from throughline.local.functions import FunctionsHost
from throughline.local.world import World
from throughline.package import delivered_by
from throughline.project import ROOT

PATIENCE_SECONDS = 300.0
RECEIVER = {f"AzureWebJobs.{name}.Disabled": "true" for name in ("parser_function", "sweeper_function")}
WORKER = {"AzureWebJobs.receiver_function.Disabled": "true"}
HOST_ID = "AzureFunctionsWebHost__hostid"

_SENDERS = 3
_PAUSE_SECONDS = 0.3
_LONGEST_APPLICATION = 20


def app_of(folder: Path, digest: str, delivery: str = "eventGrid") -> Path:
    """Copy the app into `folder` as a package with this digest, which its receiver names in answers, if it is given."""
    for name in ("shared", *(path.name for path in ROOT.glob("*_function"))):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(ROOT / "host.json", folder / "host.json")
    if digest:
        (folder / PACKAGE_FILE).write_text(digest)
    trigger = folder / "parser_function" / "function.json"
    trigger.write_bytes(delivered_by(trigger, delivery))
    return folder


def host(world: World, app: Path, settings: Mapping[str, str], *, keys: Path | None = None) -> FunctionsHost:
    """Run a second host of the world, with these settings instead of its own."""
    log = world.home / f"{settings[HOST_ID]}-{app.name}.log"
    environment = {**os.environ, **world.environment, **dict.fromkeys((*RECEIVER, *WORKER), "false"), **settings}
    return FunctionsHost(app=app, environment=environment, log=log, keys=keys)


def wait_until(true: Callable[[], bool]) -> None:
    """Wait for a condition, long enough for a busy machine."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@contextmanager
def busy(front: Front, sender: Listener, name: str, instance: str = "") -> Iterator[HeldRequest]:
    """Keep an instance busy with half of an event during the block; afterwards the event is answered or lost."""
    if instance:
        front.route(instance)
    body = event(name, "START", "10:00:00", inputs=["/a"], application="slow")
    with ThreadPoolExecutor(1) as thread:
        with front.holding(body) as held_request:
            emitted = thread.submit(sender.emit, body)
            held_request.wait()
            yield held_request
        emitted.result()


@contextmanager
def sending(front: Front, patience: float, key: str = "") -> Iterator[list[Listener]]:
    """Send applications during the block, one event after another; each sender finishes its last application."""
    end_event = threading.Event()
    with ExitStack() as parts:
        senders = [parts.enter_context(Listener(url=front.url, timeout=patience, key=key)) for _ in range(_SENDERS)]
        threads = parts.enter_context(ThreadPoolExecutor(_SENDERS))
        running = [threads.submit(applications, sender, number, end_event) for number, sender in enumerate(senders)]
        try:
            yield senders
        finally:
            end_event.set()
        for future in running:
            future.result()


def applications(sender: Listener, seed: int, end_event: threading.Event) -> None:
    replay = Replay(seed)
    while not end_event.is_set():
        items = replay.application()
        for item in items if len(items) <= _LONGEST_APPLICATION else ():
            sender.emit(item.raw)
            end_event.wait(_PAUSE_SECONDS)
