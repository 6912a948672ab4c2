"""A copy of the project with changed source files, in which a command can be run."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def overlay(*packages: str) -> Iterator[Path]:
    """A folder with copies of these top-level packages or files and links to all else; it goes at the end."""
    with tempfile.TemporaryDirectory(prefix="overlay-") as folder:
        home = Path(folder)
        for entry in ROOT.iterdir():
            if entry.name in packages and entry.is_file():
                shutil.copy(entry, home / entry.name)
            elif entry.name in packages:
                shutil.copytree(entry, home / entry.name, ignore=shutil.ignore_patterns("__pycache__"))
            elif not entry.name.startswith(".git"):
                (home / entry.name).symlink_to(entry)
        yield home


@contextmanager
def changed(home: Path, sources: Mapping[str, str]) -> Iterator[None]:
    """Files of an overlay with other contents, by path; they have their own again at the end."""
    originals = {path: (home / path).read_text() for path in sources}
    for path, source in sources.items():
        (home / path).write_text(source)
    try:
        yield
    finally:
        for path, source in originals.items():
            (home / path).write_text(source)


def run(home: Path, *command: str, seconds: float) -> tuple[int, str]:
    """Run a module of Python (`-m …`) in an overlay; return its exit code, -1 after so many seconds, and its output."""
    environment = {**os.environ, "PYTHONPATH": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    arguments: Sequence[str] = (sys.executable, "-m", *command)
    try:
        process = subprocess.run(
            arguments, cwd=home, env=environment, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return -1, ""
    return process.returncode, process.stdout + process.stderr
