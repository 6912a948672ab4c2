"""Install something into a folder once, and again only when its sources change."""

import hashlib
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from throughline.project import BUILD

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


def install_once(name: str, made_from: tuple[Path, ...], make: Callable[[Path], None], *, build: Path = BUILD) -> Path:
    """Return the folder `name` in `build`, made by `make` when the contents of `made_from` are new.

    `make` fills an empty folder, which replaces the old one only when `make` returns: an error leaves the old one
    unchanged, and is raised to the caller. Processes that install the same thing at the same time wait for each other.
    """
    target = build / name
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in made_from)).hexdigest()
    if _stamp(target) == digest:
        return target
    build.mkdir(parents=True, exist_ok=True)
    with (build / f".{name}.lock").open("w") as lock:
        _wait_for(lock)
        if _stamp(target) != digest:  # else another process did it meanwhile
            folder = build / f".{name}.new"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            (folder / ".stamp").write_text(digest)
            shutil.rmtree(target, ignore_errors=True)
            folder.rename(target)
    return target


def _wait_for(lock: TextIO) -> None:
    """Hold the lock until its file is closed."""
    if sys.platform == "win32":
        while True:
            with suppress(OSError):  # raised after ten seconds in which another process held the lock
                msvcrt.locking(lock.fileno(), msvcrt.LK_LOCK, 1)
                return
    else:
        fcntl.flock(lock, fcntl.LOCK_EX)


def _stamp(target: Path) -> str:
    try:
        return (target / ".stamp").read_text()
    except FileNotFoundError:
        return ""
