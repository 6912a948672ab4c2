"""Atlas as a child process on loopback: empty at every start, and no process is left at the end."""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

from throughline.local.atlas.configuration import LOG, configure
from throughline.local.atlas.install import install
from throughline.local.atlas.model import base_model
from throughline.local.errors import LocalError
from throughline.local.process.answering import answer_of
from throughline.local.process.leashed import Leashed
from throughline.local.process.listening import listen
from throughline.project import BUILD

USER = "admin"
# No secret: it guards a server that only this machine reaches.
PASSWORD = "local"  # noqa: S105 (see above)
USUAL_PORT = 21000
"""Atlas' own."""

_HOME = BUILD / "atlas-data"
_START_SECONDS = 300


class AtlasServer:
    """Apache Atlas on 127.0.0.1:`port` (0: a free one), as a context manager.

    `home` holds its data and its log; entering empties it, since Atlas' index does not survive an end. `deletes` is
    `soft` (Atlas' default: deleted entities are marked and kept) or `hard`. `progress` is called with the state of the
    start, about twice a second. Entering raises LocalError with the end of the log. Atlas ends with the block and with
    this process.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        home: Path = _HOME,
        deletes: str = "soft",
        progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.home = home.absolute()
        self.deletes = deletes
        self._port = port
        self._progress = progress
        self._parts = contextlib.ExitStack()
        self._child: Leashed
        self._began = 0.0

    @property
    def url(self) -> str:
        """Scheme, host and port: its web page."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def endpoint(self) -> str:
        """The root of the v2 interface."""
        return f"{self.url}/api/atlas/v2"

    @property
    def log(self) -> Path:
        """Atlas' own log."""
        return self.home / LOG

    def page(self, guid: str) -> str:
        """The URL of the web page with the lineage of an entity."""
        return f"{self.url}/index.html#!/detailPage/{guid}?tabActive=lineage"

    def __enter__(self) -> Self:
        self._progress("looking for Atlas in build/atlas (the first time fetches 280 MB)")
        installed = install()
        with contextlib.ExitStack() as parts:
            parts.enter_context(alone(self.home))
            self._port, kafka, zookeeper = ports(self._port)
            command = configure(
                installed,
                self.home,
                ports=(self._port, kafka, zookeeper),
                users=f"{USER}=ADMIN::{hashlib.sha256(PASSWORD.encode()).hexdigest()}\n",
                model=json.dumps(base_model()),
                hard_deletes=self.deletes == "hard",
            )
            child = parts.enter_context(Leashed(command, environment=os.environ, output=self.home / "java.txt"))
            self._began = time.monotonic()
            if not child.wait_for(self._active, _START_SECONDS, pause=0.5):
                log = self.log.read_text(errors="replace")[-2000:] if self.log.exists() else ""
                raise LocalError(f"Atlas did not start in {_START_SECONDS} s. It output: {child.last_output()}\n{log}")
            self._child = child
            self._parts = parts.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._parts.close()

    def wait(self) -> int:
        """Wait until it ends by itself, which it should not; return its exit code."""
        return self._child.wait() or 0

    def _active(self) -> bool:
        seconds = time.monotonic() - self._began
        self._progress(f"Atlas starts: {seconds:.0f} s (it takes about 40 s, and 0.7 GB of memory)")
        answer = answer_of(f"{self.url}/api/atlas/admin/status")
        with contextlib.suppress(ValueError):  # not JSON yet
            return bool(answer and answer.json()["Status"] == "ACTIVE")
        return False


@contextlib.contextmanager
def alone(home: Path) -> Iterator[None]:
    """Empty the folder, and lock it against a second Atlas."""
    home.mkdir(parents=True, exist_ok=True)
    with (home.parent / f".{home.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise LocalError(f"Another Atlas has its data in {home}: stop that one, or name another folder.") from error
        shutil.rmtree(home)
        home.mkdir()
        yield


def ports(port: int) -> tuple[int, int, int]:
    """Return the ports of web server, Kafka and ZooKeeper; all three were free at the same moment."""
    with (
        listen(port, "Atlas", "name another by --port") as web,
        listen(0, "Kafka", "try again") as kafka,
        listen(0, "ZooKeeper", "try again") as zookeeper,
    ):
        web_port, kafka_port, zookeeper_port = (listener.getsockname()[1] for listener in (web, kafka, zookeeper))
        return web_port, kafka_port, zookeeper_port
