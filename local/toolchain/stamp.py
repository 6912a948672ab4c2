"""Install something into a folder once: only again when what it is made from changes."""

import hashlib
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TextIO

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

ROOT = Path(__file__).parents[2]
"""The project: a checkout, or `throughline/` in site-packages, which has the same files below it."""
BUILD = Path.home() / ".cache" / "throughline" if __name__.startswith("throughline.") else ROOT / "build"
"""Where everything that is installed or made goes; it may be deleted at any time."""


def install_once(name: str, made_from: tuple[Path, ...], make: Callable[[Path], None], *, build: Path = BUILD) -> Path:
    """Return the folder `name` in `build`, made by `make` when the contents of `made_from` are new.

    `make` gets an empty folder to fill, which takes the place of the old one only when it returns: a failure
    leaves the old one as it was, and whatever `make` raised goes to the caller. Processes that install the
    same thing at the same time wait for each other.
    """
    target = build / name
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in made_from)).hexdigest()
    if _stamp(target) == digest:
        return target
    build.mkdir(parents=True, exist_ok=True)
    with (build / f".{name}.lock").open("w") as lock:
        _wait_for(lock)
        if _stamp(target) != digest:  # else another process did it while we waited
            fresh = build / f".{name}.new"
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir()
            make(fresh)
            (fresh / ".stamp").write_text(digest)
            shutil.rmtree(target, ignore_errors=True)
            fresh.rename(target)
    return target


def _wait_for(lock: TextIO) -> None:
    """Hold the lock until its file is closed."""
    if sys.platform == "win32":
        while True:
            with suppress(OSError):  # it is raised after ten seconds in which another process had the lock
                msvcrt.locking(lock.fileno(), msvcrt.LK_LOCK, 1)
                return
    else:
        fcntl.flock(lock, fcntl.LOCK_EX)


def _stamp(target: Path) -> str:
    try:
        return (target / ".stamp").read_text()
    except FileNotFoundError:
        return ""
