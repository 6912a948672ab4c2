"""An upgrade of the functions while events are sent: no sender loses an event, no answered event is lost.

As in Azure, receiver and worker are separate apps of one package. The worker is stopped and started, as in a restart
with another package. The receiver is replaced behind a front end like App Service's: by a slot swap to the next
version, and back to the first one by a rolling update, during which both answer. The final content of the catalog is
compared with the pure core's result for the answered events.
"""

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.replay import Replay
from local.functions import FunctionsHost
from local.world import ROOT, World
from tests.soak.siege import differences, settle_down
from tests.support.events import event
from tests.support.front import Front, HeldRequest
from tests.support.listener import TIMEOUT_SECONDS, Listener

pytestmark = pytest.mark.e2e

_NEXT = "9.9.9"
_SENDERS = 3
_PAUSE_SECONDS = 0.3
_LONGEST_APPLICATION = 20
_SHORT_SECONDS = 0.3
_PATIENCE_SECONDS = 300.0
_MAX_ANSWERS = 100
"""A sender's timeout, in usual answer times: on a quiet machine it is 5 s."""

_ANSWERS_PER_PHASE = 3
"""The number of events of each sender while both versions answer, and afterwards."""

_RECEIVER = {f"AzureWebJobs.{name}.Disabled": "true" for name in ("parser_function", "sweeper_function")}
_WORKER = {f"AzureWebJobs.{name}.Disabled": "true" for name in ("receiver_function", "batch_function")}
_HOST_ID = "AzureFunctionsWebHost__hostid"

_ADD_VERSION_HEADER = """

from shared.versions import RELEASE
_first_main = main


def main(req: func.HttpRequest) -> func.HttpResponse:
    answer = _first_main(req)
    answer.headers["X-Version"] = RELEASE
    return answer
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """The results of an upgrade, after which the first receiver is back.

    `slow` sent the events that kept instances busy, `peaceful` sent before the upgrade.
    """

    front: Front
    next_worker: FunctionsHost
    senders: tuple[Listener, ...]
    slow: Listener
    peaceful: Listener


@pytest.fixture(scope="module")
def next_version(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An app with other code and the same stored format: its receiver answers with the version of its `shared`."""
    app = tmp_path_factory.mktemp("next") / "app"
    for folder in ("shared", *(path.name for path in ROOT.glob("*_function"))):
        shutil.copytree(ROOT / folder, app / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(ROOT / "host.json", app / "host.json")
    for file, added in (
        (app / "shared" / "versions.py", f'\nRELEASE = "{_NEXT}"\n'),
        (app / "receiver_function" / "__init__.py", _ADD_VERSION_HEADER),
    ):
        file.write_text(file.read_text() + added)
    return app


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Azurite, the catalog and the receiver of the first version."""
    home = tmp_path_factory.mktemp("world")
    with World(home=home, usual_ports=False, settings={**_RECEIVER, _HOST_ID: "receiver"}) as running:
        yield running


def host(world: World, app: Path, **settings: str) -> FunctionsHost:
    """Run a second host of the world, with these settings instead of its own."""
    log = world.home / f"{settings[_HOST_ID]}-{app.name}.log"
    environment = {**os.environ, **world.environment, **dict.fromkeys(_RECEIVER, "false"), **settings}
    return FunctionsHost(app=app, environment=environment, log=log)


def worker(world: World, app: Path) -> FunctionsHost:
    return host(world, app, **_WORKER, **{_HOST_ID: "worker"})


def sender_before_upgrade(front: Front) -> tuple[Listener, float]:
    """Return a sender that sent before the upgrade, and the timeout of the others in seconds.

    The timeout is the real listener's, or longer if this machine is slow.
    """
    seconds = 0.0
    with Listener(url=front.url, timeout=_PATIENCE_SECONDS) as sender:
        for number in range(5):
            began = time.monotonic()
            sender.emit(event(f"in peace {number}", "START", "10:00:00", inputs=["/a"], application="slow"))
            seconds = time.monotonic() - began
    return sender, max(TIMEOUT_SECONDS, _MAX_ANSWERS * seconds)


def wait_until(true: Callable[[], bool]) -> None:
    """Wait for a condition, long enough for a busy machine."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@contextmanager
def busy(front: Front, sender: Listener, name: str, by: str = "") -> Iterator[HeldRequest]:
    """Keep an instance busy with half of an event during the block; afterwards the event is answered or lost."""
    if by:
        front.route(by)
    body = event(name, "START", "10:00:00", inputs=["/a"], application="slow")
    with ThreadPoolExecutor(1) as thread:
        with front.holding(body) as held:
            emitted = thread.submit(sender.emit, body)
            held.wait()
            yield held
        emitted.result()


@contextmanager
def sending(front: Front, patience: float) -> Iterator[list[Listener]]:
    """Send applications during the block, one event after another; each sender finishes its last application."""
    ended = threading.Event()
    with ExitStack() as parts:
        senders = [parts.enter_context(Listener(url=front.url, timeout=patience)) for _ in range(_SENDERS)]
        threads = parts.enter_context(ThreadPoolExecutor(_SENDERS))
        running = [threads.submit(applications, sender, number, ended) for number, sender in enumerate(senders)]
        try:
            yield senders
        finally:
            ended.set()
        for each in running:
            each.result()


def applications(sender: Listener, seed: int, ended: threading.Event) -> None:
    replay = Replay(seed)
    while not ended.is_set():
        items = replay.application()
        for item in items if len(items) <= _LONGEST_APPLICATION else ():
            sender.emit(item.raw)
            ended.wait(_PAUSE_SECONDS)


@pytest.fixture(scope="module")
def upgrade(world: World, next_version: Path) -> Iterator[Upgrade]:
    """Replace the worker, swap the receivers, and restore the first receiver by a rolling update.

    This is the order of docs/operate/upgrading.md.
    """
    first, next_worker = world.functions, worker(world, next_version)
    with ExitStack() as parts:
        first_worker = parts.enter_context(ExitStack())
        first_worker.enter_context(worker(world, ROOT))
        front = parts.enter_context(Front(first.url))
        peaceful, patience = sender_before_upgrade(front)
        slow = parts.enter_context(Listener(url=front.url, timeout=patience))
        with sending(front, patience) as senders:
            wait_until(lambda: all(each.versions for each in senders))
            first_worker.close()
            parts.enter_context(next_worker)
            following = parts.enter_context(host(world, next_version, **_RECEIVER, **{_HOST_ID: "receiver"}))
            with busy(front, slow, "before the swap"):
                front.route(following.url)  # the swap: the first one stays in the other slot, with its current requests
            front.drain(first.url)
            front.route(following.url, first.url)
            wait_until(lambda: all(each.versions.count(_NEXT) > _ANSWERS_PER_PHASE for each in senders))
            before = [len(each.versions) for each in senders]
            with busy(front, slow, "before the rollback", by=following.url) as held:
                front.route(first.url)
                front.drain(following.url, but=1)
                threading.Timer(_SHORT_SECONDS, held.go_on).start()
                following.stop()  # SIGTERM: it ends after its answers
            wait_until(
                lambda: all(
                    len(each.versions) > _ANSWERS_PER_PHASE + n for each, n in zip(senders, before, strict=True)
                )
            )
        yield Upgrade(front=front, next_worker=next_worker, senders=tuple(senders), slow=slow, peaceful=peaceful)


def test_no_event_is_lost_in_an_upgrade_and_a_rollback(upgrade: Upgrade) -> None:
    assert [lost.why for each in (*upgrade.senders, upgrade.slow) for lost in each.lost] == []
    assert upgrade.slow.versions == ["", _NEXT]
    for each in upgrade.senders:
        assert (each.versions[0], _NEXT in each.versions, each.versions[-1]) == ("", True, "")


def test_each_answered_event_is_stored_and_counted_once(upgrade: Upgrade, world: World) -> None:
    settle_down(world, seconds=_PATIENCE_SECONDS)
    assert (
        differences(
            world, [body for each in (*upgrade.senders, upgrade.slow, upgrade.peaceful) for body in each.answered]
        )
        == []
    )
    assert upgrade.next_worker.calls()["invocations"]["parser_function"]["ok"] > 0, "both workers took part"


def test_an_event_is_lost_if_its_instance_is_killed_before_answering(upgrade: Upgrade, world: World) -> None:
    """The defect that the first test would detect: a switch without waiting."""
    with Listener(url=upgrade.front.url) as sender:
        with busy(upgrade.front, sender, "too soon"):
            os.kill(world.functions.pid, signal.SIGKILL)
        assert [lost.why for lost in sender.lost] == ["answered 502"]


def test_an_event_is_lost_if_the_only_instance_ends_before_a_new_one_answers(upgrade: Upgrade, world: World) -> None:
    """The last test of this file: it ends the receiver."""
    world.functions.stop()
    with Listener(url=upgrade.front.url) as sender:
        sender.emit(event("in between", "START", "10:00:00", inputs=["/a"], application="slow"))
        assert [lost.why for lost in sender.lost] == ["answered 502"]
