"""The local world that runs on this machine, by the note that it leaves: commands need no more of it."""

import json
import os
import shlex
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from throughline.project import BUILD

HOME = BUILD / "world"
"""The default folder of a world's data; it may be deleted while no world runs."""

NOTE = "world.json"
"""The file with the addresses of the world, in the folder of its data while it runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningWorld:
    """The addresses of a running world; `environment` are the settings of its functions."""

    pid: int
    receiver_url: str
    catalog_url: str
    catalog_token: str
    environment: Mapping[str, str]


def write_note(home: Path, world: RunningWorld) -> None:
    """Write the note atomically, and readable to this user only, since it contains keys."""
    new_note = home / f"{NOTE}.new"
    new_note.unlink(missing_ok=True)
    new_note.touch(mode=0o600)
    new_note.write_text(json.dumps(asdict(world)))
    new_note.replace(home / NOTE)


def running_world(home: Path = HOME) -> RunningWorld | None:
    """Return the running world of this machine with its data in `home`, if there is one."""
    try:
        world = RunningWorld(**json.loads((home / NOTE).read_text()))
        os.kill(world.pid, 0)
    except (OSError, ValueError, TypeError):  # no note, none that can be read, or no such process
        return None
    return world if _answers(world.receiver_url) else None


def up_command(home: Path) -> str:
    """The command that starts a world in this folder, in backticks as for a sentence."""
    return "`throughline up`" if home == HOME else f"`throughline up --home {shlex.quote(str(home))}`"


def _answers(url: str) -> bool:
    """Whether something listens there: another process may have the process id of a stale note."""
    host, _, port = url.rpartition("/")[2].partition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=2):
            return True
    except OSError:
        return False
