"""The receiver in Azure as `az` shows it: production and its slot, with their packages, keys, and processes.

As on Linux: a process keeps the name of the slot in which it was started, also after a swap, and reads the keys of that
name (https://github.com/Azure/azure-functions-host/issues/8999). A restart gives it the name of its place.
"""

import json as jsonlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import jmespath

from throughline.cli.deploy.azure_cli import AzureCliError
from throughline.cli.deploy.packaging import read_package
from throughline.cli.deploy.receiver import ProbeAnswer

PRODUCTION, SLOT = "production", "staging"
_URL = re.compile(
    r"/subscriptions/\{subscriptionId\}/resourceGroups/[\w-]+/providers/Microsoft\.Web/sites/[\w-]+(?:/slots/(?P<slot>\w+))?/"
    r"(?:host/default|functions/(?P<function>\w+))/(?:listkeys|functionkeys/(?P<host_key>\w+)|keys/(?P<key>\w+))\?api-"
)


@dataclass(kw_only=True)
class ReceiverProcess:
    """What runs at an address: the digest of its package (empty: none), and the name whose keys it reads."""

    package: str
    named: str


def keys(value: str) -> dict[str, dict[str, str]]:
    """Return the keys of a place: of its host, and of each function."""
    return {"host": {"default": f"{value}-host"}, "receiver_function": {"default": value}}


@dataclass(kw_only=True)
class PlayedReceiver:
    """Stands in for `az`, and answers probes. `changes` has what was changed, in order.

    `broken` packages answer 500, packages in `dead` never start. `deaf`: the slot's host takes no keys. `forgetful`: it
    says that it took them, and does not keep them. `refusing`: 401 after a swap to this package, whatever the key.
    """

    running: str
    slot: str = ""
    broken: frozenset[str] = frozenset()
    dead: frozenset[str] = frozenset()
    deaf: bool = False
    forgetful: bool = False
    refusing: str = ""
    changed: Callable[[str], None] = lambda _: None
    changes: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.places = {
            PRODUCTION: ReceiverProcess(package=self.running, named=PRODUCTION),
            SLOT: ReceiverProcess(package=self.slot, named=SLOT),
        }
        self.keys = {PRODUCTION: keys("sender"), SLOT: keys("slot")}

    def json(self, *words: str) -> Any:
        """The answer of `az`. Raises AzureCliError."""
        options = dict(pairwise(words))
        place = SLOT if "--slot" in options else PRODUCTION
        if words[0] == "rest":
            return self._keys(options)
        if words[1] == "show":
            return "func-receiver-staging.azurewebsites.net"
        if words[1] == "restart":
            self.places[place].named = place
            self._note(f"restart {place}")
        elif words[2] == "slot":
            production, slot = self.places[PRODUCTION], self.places[SLOT]
            self.places |= {PRODUCTION: slot, SLOT: production}
            self._note("swap")
        elif words[2] == "source":
            assert options["--build-remote"] == "false"
            self.places[place].package = read_package(Path(options["--src"])).digest
            self._note(f"deploy {place}")
        else:
            raise AssertionError(words)
        return None

    def post(self, url: str, key: str) -> ProbeAnswer:
        """The answer to an empty POST."""
        process = self.places[SLOT if "-staging." in url else PRODUCTION]
        self.asked.append(process.package)
        if not process.package or process.package in self.dead:
            return ProbeAnswer(status=503 if process.package else 404)
        refused = self.refusing == process.package and self.places[PRODUCTION] is process
        if refused or not self.accepts(process, key):
            return ProbeAnswer(status=401)
        return ProbeAnswer(status=500 if process.package in self.broken else 400, package=process.package)

    def accepts(self, process: ReceiverProcess, key: str) -> bool:
        """Whether the key opens the route of the receiver at this process."""
        held_key = self.keys[process.named]
        return key in {*held_key["host"].values(), *held_key["receiver_function"].values()}

    def _keys(self, options: dict[str, str]) -> Any:
        match = _URL.match(options["--url"])
        assert match, options["--url"]
        place, method = SLOT if match["slot"] else PRODUCTION, options["--method"]
        held_keys = self.keys[place][match["function"] or "host"]
        if method == "post":
            answer = held_keys if match["function"] else {"masterKey": "m", "functionKeys": held_keys, "systemKeys": {}}
            return jmespath.search(options["--query"], answer)
        assert place == SLOT, "production's keys are never changed"
        if self.deaf:
            raise AzureCliError(
                command=("az",), exit_code=1, message="`az` failed: ServiceUnavailable", first_line="no"
            )
        if not self.forgetful:
            name = str(match["host_key"] or match["key"])
            if method == "delete":
                del held_keys[name]
            else:
                body = jsonlib.loads(Path(options["--body"].removeprefix("@")).read_text())["properties"]
                assert body["name"] == name
                held_keys[name] = body["value"]
        self._note(f"{method} key")
        return None

    def _note(self, change: str) -> None:
        self.changes.append(change)
        self.changed(change)
