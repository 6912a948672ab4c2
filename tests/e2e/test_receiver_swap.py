"""The deployment's own swap of the receiver, under load, on platforms that behave as Azure's worst reports say.

`throughline.cli.deploy` runs as it is, on real hosts behind front ends: one whose processes read the keys of the slot
in which they were started, also after a swap (for six minutes, which is longer than any of these tests), one that also
ends running requests, and one that does not accept the copied keys. What is lost is counted; docs/operate/upgrading.md
tells it.
"""

import io
import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.infra.test_deploy import NEW, OLD, package, target
from tests.support.front import Front
from tests.support.listener import Listener
from tests.support.played_receiver import PRODUCTION, SLOT, PlayedReceiver
from tests.support.replacing import replace_text
from tests.support.upgrades import (
    HOST_ID,
    PATIENCE_SECONDS,
    RECEIVER,
    WORKER,
    app_of,
    busy,
    host,
    sending,
    wait_until,
)
from throughline.cli.deploy.packaging import read_package
from throughline.cli.deploy.progress import DeployError, PollLimits, Progress
from throughline.cli.deploy.receiver import ROUTE, DeployedReceiver, ProbeAnswer, post_nothing
from throughline.local.world import World

pytestmark = pytest.mark.e2e

_KEY = "sender"
_RUNNING_REQUESTS = 4
_LIMITS = PollLimits(seconds=60.0, pause=0.2)
_AFTER_SWAP = PollLimits(seconds=3.0, pause=0.3)
_HALF_A_SWAP = 1.0
"""Seconds from the call of a swap until requests go elsewhere, and from then until the call returns."""


@dataclass(kw_only=True)
class Platform:
    """Two receivers, the old package in production and the new one in the slot, behind front ends of their own.

    `ends_requests`: a swap closes the connections of running requests. `keeps_keys`: the slot's keys stay as they were
    for requests to production, whatever was copied.
    """

    hosts: dict[str, str]
    files: dict[str, Path]
    production: Front
    slot: Front
    ends_requests: bool = False
    keeps_keys: bool = False
    azure: PlayedReceiver = field(init=False)

    def __post_init__(self) -> None:
        self.azure = PlayedReceiver(running=OLD, slot=NEW, changed=self._changed)
        self._changed("start")

    def _changed(self, change: str) -> None:
        for name, file in self.files.items():
            held_key = self.azure.keys[name]
            swapped = self.azure.places[PRODUCTION].named == name == SLOT
            functions = {function_name: keys for function_name, keys in held_key.items() if function_name != "host"}
            content = {"functionKeys": held_key["host"], "functions": functions}
            replace_text(file, json.dumps({} if swapped and self.keeps_keys else content))
        if change in {"start", "swap"}:
            seconds = _HALF_A_SWAP if change == "swap" else 0.0
            time.sleep(seconds)
            new, old = (self.hosts[self.azure.places[name].package] for name in (PRODUCTION, SLOT))
            self.production.route(new, cut=self.ends_requests and change == "swap")
            self.slot.route(old)
            time.sleep(seconds)

    def post(self, url: str, key: str) -> ProbeAnswer:
        front = self.slot if "-staging." in url else self.production
        assert urlsplit(url).path == ROUTE
        return post_nothing(f"{front.url}{ROUTE}", key)

    def deploy(self, folder: Path) -> None:
        receiver = DeployedReceiver(
            az=self.azure,
            target=target(RECEIVER_SLOT=SLOT),
            limits=_LIMITS,
            progress=Progress(io.StringIO()),
            post=self.post,
            after_swap=_AFTER_SWAP,
        )
        receiver.deploy(read_package(package(folder)), lambda _: None)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Azurite, the catalog and the worker."""
    home = tmp_path_factory.mktemp("world")
    with World(home=home, usual_ports=False, settings={**WORKER, HOST_ID: "worker"}) as running:
        yield running


@pytest.fixture(scope="module")
def receivers(
    world: World, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[dict[str, str], dict[str, Path]]]:
    """The addresses of a receiver for each package, and the file of keys of the slot in which each was started."""
    folder = tmp_path_factory.mktemp("receivers")
    files = {name: folder / f"{name}.json" for name in (PRODUCTION, SLOT)}
    with ExitStack() as parts:
        addresses = {}
        for digest, name in ((OLD, PRODUCTION), (NEW, SLOT)):
            files[name].write_text("{}")
            app = app_of(folder / name / "app", digest)
            addresses[digest] = parts.enter_context(
                host(world, app, {**RECEIVER, HOST_ID: f"receiver-{name}"}, keys=files[name])
            ).url
        yield addresses, files


@pytest.fixture
def platform(receivers: tuple[dict[str, str], dict[str, Path]]) -> Iterator[Platform]:
    addresses, files = receivers
    with Front() as production, Front() as slot:
        yield Platform(hosts=addresses, files=files, production=production, slot=slot)


def answered_by(senders: list[Listener], digest: str) -> bool:
    """Whether the last answer of each sender came from this package."""
    return all(sender.packages and sender.packages[-1] == digest for sender in senders)


def lost(senders: list[Listener]) -> list[str]:
    return [lost_event.why for sender in senders for lost_event in sender.lost]


def test_no_event_is_lost_although_the_process_reads_the_slot_s_keys_all_the_while(
    platform: Platform, tmp_path: Path
) -> None:
    with sending(platform.production, PATIENCE_SECONDS, _KEY) as senders:
        wait_until(lambda: answered_by(senders, OLD))
        platform.deploy(tmp_path)
        wait_until(lambda: answered_by(senders, NEW))
        assert platform.azure.places[PRODUCTION].named == SLOT
    assert lost(senders) == []
    assert platform.azure.changes.count("swap") == 1


def test_a_platform_that_ends_running_requests_loses_exactly_those(platform: Platform, tmp_path: Path) -> None:
    platform.ends_requests = True
    with ExitStack() as parts:
        slow = [
            parts.enter_context(Listener(url=platform.production.url, timeout=PATIENCE_SECONDS, key=_KEY))
            for _ in range(_RUNNING_REQUESTS)
        ]
        senders = parts.enter_context(sending(platform.production, PATIENCE_SECONDS, _KEY))
        wait_until(lambda: answered_by(senders, OLD))
        for number, sender in enumerate(slow):
            parts.enter_context(busy(platform.production, sender, f"running {number}"))
        platform.deploy(tmp_path)
        wait_until(lambda: answered_by(senders, NEW))
    assert [len(listener.lost) for listener in slow] == [1] * _RUNNING_REQUESTS
    assert len(lost([*senders, *slow])) == platform.production.cut >= _RUNNING_REQUESTS


def test_refused_senders_lose_events_until_the_swap_is_undone_and_none_after(
    platform: Platform, tmp_path: Path
) -> None:
    platform.keeps_keys = True
    with sending(platform.production, PATIENCE_SECONDS, _KEY) as senders:
        wait_until(lambda: answered_by(senders, OLD))
        with pytest.raises(DeployError, match=r"401: it does not accept its key\. So the swap was undone"):
            platform.deploy(tmp_path)
        refused = len(lost(senders))
        counts = [len(sender.packages) for sender in senders]
        wait_until(lambda: all(len(listener.packages) > n + 1 for listener, n in zip(senders, counts, strict=True)))
    assert set(lost(senders)) == {"answered 401"}
    assert 0 < refused <= len(lost(senders)) <= refused + len(senders), "one each, sent in the moment of the swap back"
    assert answered_by(senders, OLD)
