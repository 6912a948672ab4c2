"""An upgrade of the functions while events are sent: no sender loses an event, no answered event is lost.

As in Azure, receiver and worker are separate apps of one package. The worker is stopped and started, as in a restart
with another package. The receiver is replaced behind a front end like App Service's: by a slot swap to the next
version, and back to the first one by a rolling update, during which both answer. The final content of the catalog is
compared with the pure core's result for the answered events.
"""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.soak.siege import differences, settle_down
from tests.support.events import event
from tests.support.front import Front
from tests.support.listener import TIMEOUT_SECONDS, Listener
from tests.support.upgrades import HOST_ID, PATIENCE_SECONDS, RECEIVER, WORKER, app_of, busy, host, sending, wait_until
from throughline.local.functions import FunctionsHost
from throughline.local.world import World
from throughline.package import DELIVERIES

pytestmark = pytest.mark.e2e

_NEXT = "9" * 64
"""The digest of the next package; the first one names none."""
_SHORT_SECONDS = 0.3
_MAX_ANSWERS = 100
"""A sender's timeout, in usual answer times: on a quiet machine it is 5 s."""

_ANSWERS_PER_PHASE = 3
"""The number of events of each sender while both versions answer, and afterwards."""


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


@pytest.fixture(scope="module", params=DELIVERIES)
def versions(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The first and the next version: Event Grid's webhook starts their parsers, then a queue that it fills."""
    folder = tmp_path_factory.mktemp(request.param)
    return app_of(folder / "first", "", request.param), app_of(folder / "next", _NEXT, request.param)


@pytest.fixture(scope="module")
def world(versions: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Azurite, the catalog and the receiver of the first version."""
    home = tmp_path_factory.mktemp("world")
    with World(home=home, usual_ports=False, app=versions[0], settings={**RECEIVER, HOST_ID: "receiver"}) as running:
        yield running


def worker(world: World, app: Path) -> FunctionsHost:
    return host(world, app, {**WORKER, HOST_ID: "worker"})


def sender_before_upgrade(front: Front) -> tuple[Listener, float]:
    """Return a sender that sent before the upgrade, and the timeout of the others in seconds.

    The timeout is the real listener's, or longer if this machine is slow.
    """
    seconds = 0.0
    with Listener(url=front.url, timeout=PATIENCE_SECONDS) as sender:
        for number in range(5):
            began = time.monotonic()
            sender.emit(event(f"in peace {number}", "START", "10:00:00", inputs=["/a"], application="slow"))
            seconds = time.monotonic() - began
    return sender, max(TIMEOUT_SECONDS, _MAX_ANSWERS * seconds)


@pytest.fixture(scope="module")
def upgrade(world: World, versions: tuple[Path, Path]) -> Iterator[Upgrade]:
    """Replace the worker, swap the receivers, and restore the first receiver by a rolling update.

    This is the order of docs/operate/upgrading.md.
    """
    first, next_version = world.functions, versions[1]
    next_worker = worker(world, next_version)
    with ExitStack() as parts:
        first_worker = parts.enter_context(ExitStack())
        first_worker.enter_context(worker(world, versions[0]))
        front = parts.enter_context(Front(first.url))
        peaceful, patience = sender_before_upgrade(front)
        slow = parts.enter_context(Listener(url=front.url, timeout=patience))
        with sending(front, patience) as senders:
            wait_until(lambda: all(sender.packages for sender in senders))
            first_worker.close()
            parts.enter_context(next_worker)
            following = parts.enter_context(host(world, next_version, {**RECEIVER, HOST_ID: "receiver"}))
            with busy(front, slow, "before the swap"):
                front.route(following.url)  # the swap: the first one stays in the other slot, with its current requests
            front.drain(first.url)
            front.route(following.url, first.url)
            wait_until(lambda: all(sender.packages.count(_NEXT) > _ANSWERS_PER_PHASE for sender in senders))
            counts_before = [len(sender.packages) for sender in senders]
            with busy(front, slow, "before the rollback", instance=following.url) as held_request:
                front.route(first.url)
                front.drain(following.url, but=1)
                threading.Timer(_SHORT_SECONDS, held_request.go_on).start()
                following.stop()  # SIGTERM: it ends after its answers
            wait_until(
                lambda: all(
                    len(listener.packages) > _ANSWERS_PER_PHASE + n
                    for listener, n in zip(senders, counts_before, strict=True)
                )
            )
        yield Upgrade(front=front, next_worker=next_worker, senders=tuple(senders), slow=slow, peaceful=peaceful)


def test_no_event_is_lost_in_an_upgrade_and_a_rollback(upgrade: Upgrade) -> None:
    assert [lost_event.why for sender in (*upgrade.senders, upgrade.slow) for lost_event in sender.lost] == []
    assert upgrade.slow.packages == ["", _NEXT]
    for each in upgrade.senders:
        assert (each.packages[0], _NEXT in each.packages, each.packages[-1]) == ("", True, "")


def test_each_answered_event_is_stored_and_counted_once(upgrade: Upgrade, world: World) -> None:
    settle_down(world, seconds=PATIENCE_SECONDS)
    assert (
        differences(
            world, [body for sender in (*upgrade.senders, upgrade.slow, upgrade.peaceful) for body in sender.answered]
        )
        == []
    )
    assert upgrade.next_worker.calls()["invocations"]["parser_function"]["ok"] > 0, "both workers took part"


def test_an_event_is_lost_if_its_instance_is_killed_before_answering(upgrade: Upgrade, world: World) -> None:
    """The defect that the first test would detect: a switch without waiting."""
    with Listener(url=upgrade.front.url) as sender:
        with busy(upgrade.front, sender, "too soon"):
            os.kill(world.functions.pid, signal.SIGKILL)
        assert [lost_event.why for lost_event in sender.lost] == ["answered 502"]


def test_an_event_is_lost_if_the_only_instance_ends_before_a_new_one_answers(upgrade: Upgrade, world: World) -> None:
    """The last test of this file: it ends the receiver."""
    world.functions.stop()
    with Listener(url=upgrade.front.url) as sender:
        sender.emit(event("in between", "START", "10:00:00", inputs=["/a"], application="slow"))
        assert [lost_event.why for lost_event in sender.lost] == ["answered 502"]
