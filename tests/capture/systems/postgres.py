"""A temporary PostgreSQL on loopback; its binaries are the machine's, or Debian's packages by apt-get."""

import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.capture.systems.serving import free_port, serving
from tests.capture.systems.system import System, SystemsError

DATABASE = "shop"
STABLE = "db.example:5432"
"""The server's stable name in kept events."""

_UNPRIVILEGED = ("postgres", "nobody")  # the server refuses to run as root
_INSTALL = (("apt-get", "update"), ("apt-get", "install", "--yes", "--no-install-recommends", "postgresql"))


@contextmanager
def postgres() -> Iterator[System]:
    """Run a server with an empty database. The script gets `--jdbc URL`. Raises SystemsError."""
    binaries = _binaries()
    user = _unprivileged_user()
    command_prefix = _by(user)
    # Not below build/: the server's user may lack access to the folders above it.
    with tempfile.TemporaryDirectory(prefix="throughline-postgres-") as name:
        folder = Path(name)
        if user:
            shutil.chown(folder, user)
        _run(
            [
                *command_prefix,
                str(binaries / "initdb"),
                "-D",
                f"{folder}/data",
                "-U",
                "spark",
                "-A",
                "trust",
                "--no-sync",
            ]
        )
        port = free_port()
        options = ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-p", str(port), "-k", str(folder)]
        command = [*command_prefix, str(binaries / "postgres"), "-D", f"{folder}/data", *options]
        with (
            tempfile.TemporaryDirectory(prefix="throughline-postgres-log-") as logs,
            serving("PostgreSQL", command, environment=os.environ, port=port, log=Path(logs) / "postgres.log"),
        ):
            _run([str(binaries / "createdb"), "-h", "127.0.0.1", "-p", str(port), "-U", "spark", DATABASE])
            version = re.search(r"\d+(\.\d+)*", _run([str(binaries / "postgres"), "--version"]))
            yield System(
                arguments=("--jdbc", f"jdbc:postgresql://127.0.0.1:{port}/{DATABASE}"),
                stable_names={f"127.0.0.1:{port}": STABLE},
                versions={"postgres": version[0] if version else "unknown"},
            )


def _binaries() -> Path:
    """Return the folder of initdb; install PostgreSQL first if there is none."""
    path = _installed()
    if path is None and os.geteuid() == 0 and shutil.which("apt-get"):
        for command in _INSTALL:
            _run(command)
        path = _installed()
    if path is None:
        raise SystemsError("PostgreSQL is not installed: install it (`apt-get install postgresql` on Debian, as root).")
    return path


def _installed() -> Path | None:
    """Return the folder of Debian's server programs, which is not on the path and has one folder for each version."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("initdb")
    paths = [*([Path(on_path).resolve()] if on_path else []), *versions]
    return paths[-1].parent if paths else None


def _unprivileged_user() -> str | None:
    """Return the user that runs the server when this process is root's."""
    if os.geteuid():
        return None
    user_names = {user.pw_name for user in pwd.getpwall()}
    user = next((name for name in _UNPRIVILEGED if name in user_names), None)
    if user is None or not shutil.which("setpriv"):
        raise SystemsError("PostgreSQL does not run as root, and there is no other user: capture as an ordinary user.")
    return user


def _by(user: str | None) -> list[str]:
    """Return the prefix of a command that runs it as this user."""
    if user is None:
        return []
    return ["setpriv", f"--reuid={user}", f"--regid={pwd.getpwnam(user).pw_gid}", "--clear-groups"]


def _run(command: Sequence[str]) -> str:
    outcome = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    if outcome.returncode:
        raise SystemsError(f"`{' '.join(command)}` failed: {(outcome.stderr or outcome.stdout).strip()[-1000:]}")
    return outcome.stdout
