"""The package of the functions: taken as it is, or made where no environment exists yet, on any system."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from shared.versions import PACKAGE_FILE
from throughline.cli.deploy.progress import DeployError, Progress
from throughline.project import ROOT

EVENT_GRID = "eventGrid"
_TRIGGER = "parser_function/function.json"
_PAGE = "lineage_function/function.json"
_PACKAGE_COMMAND = f"{Path(sys.executable).name} -m throughline.package"


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """An archive, the digest that its receiver names in answers, and how its parser gets notices of new events."""

    archive: Path
    digest: str
    delivery: str


def build(delivery: str, progress: Progress, *, root: Path = ROOT) -> Path:
    """Make the package by what `make package` runs, and return the archive.

    Raises DeployError with its output where that fails.
    """
    return _built("the package", "package", ("--delivery", delivery), progress, root)


def build_lineage(progress: Progress, *, root: Path = ROOT) -> Path:
    """Make the package of the lineage page in the same way."""
    return _built("the package of the lineage page", "package-lineage", ("--app", "lineage"), progress, root)


def _built(subject: str, folder: str, options: tuple[str, ...], progress: Progress, root: Path) -> Path:
    python = find_python(root, progress)
    with progress.step(f"make {subject}"):
        _run([str(python), "-m", "throughline.package", *options], root, f"{subject.capitalize()} could not be made")
    return root / "build" / folder / "throughline.zip"


def lineage_beside(archive: Path) -> Path:
    """The package of the lineage page beside one of the functions: `throughline-lineage.zip` beside `throughline.zip`.

    Raises DeployError where there is none.
    """
    lineage_archive = archive.with_name(f"{archive.stem}-lineage.zip")
    try:
        with zipfile.ZipFile(lineage_archive) as package:
            package.getinfo(_PAGE)
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise DeployError(
            f"This deployment has a lineage page, and {lineage_archive} is no package of it ({error}). Make one, and "
            f"put it there: {_PACKAGE_COMMAND} --app lineage"
        ) from error
    return lineage_archive


def read_package(archive: Path) -> Package:
    """Return what an archive is. Raises DeployError where the file is no package."""
    try:
        with zipfile.ZipFile(archive) as package:
            (trigger,) = json.loads(package.read(_TRIGGER))["bindings"]
            digest = package.read(PACKAGE_FILE).decode("ascii")
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        message = f"{archive} is no package of the functions ({error}). Make one: {_PACKAGE_COMMAND}"
        raise DeployError(message) from error
    delivery = "queue" if trigger["type"] == "queueTrigger" else EVENT_GRID
    return Package(archive=archive, digest=digest, delivery=delivery)


def checked(archive: Path, delivery: str) -> Package:
    """Return a package. Raises DeployError where it was made for another delivery than the deployment's."""
    package = read_package(archive)
    if package.delivery != delivery:
        raise DeployError(
            f"{archive} was made for {package.delivery}, but this deployment delivers events by {delivery}: its parser "
            f"would never run. Make it again: {_PACKAGE_COMMAND} --delivery {delivery}"
        )
    return package


def find_python(root: Path, progress: Progress) -> Path:
    """Return a Python of the version in .python-version that can make the package.

    It is that of `make setup` where that has run, else one in build/packaging, which is made once. A machine without
    that version gets it from uv. Raises DeployError.
    """
    version = (root / ".python-version").read_text(encoding="utf-8").strip()
    developers = _python_in(root / ".venv")
    if (root / ".venv/.ready").exists() and _version_of(developers) == version:
        return developers
    return _make_environment(root, version, progress)


def _make_environment(root: Path, version: str, progress: Progress) -> Path:
    folder, pins = root / "build/packaging", root / "requirements/package.txt"
    running = f"{sys.version_info[0]}.{sys.version_info[1]}"
    python = _python_in(folder / ("installer" if running == version else "python"))
    stamp = hashlib.sha256(pins.read_bytes() + version.encode() + sys.executable.encode()).hexdigest()
    stamp_file = folder / ".ready"
    if stamp_file.exists() and stamp_file.read_text(encoding="utf-8") == stamp and _version_of(python) == version:
        return python
    with progress.step("install what makes the package (once)"):
        shutil.rmtree(folder, ignore_errors=True)  # an installation that was interrupted is begun again
        folder.mkdir(parents=True)
        failed = "An environment for the package could not be made"
        installer = _python_in(folder / "installer")
        _run([sys.executable, "-m", "venv", str(folder / "installer")], root, f"{failed} (on Debian: python3-venv)")
        packages = ["--quiet", "--require-hashes", "--only-binary", ":all:", "-r", str(pins)]
        _run([str(installer), "-m", "pip", "install", "--disable-pip-version-check", *packages], root, failed)
        if running != version:
            uv = [str(installer), "-m", "uv"]
            _run([*uv, "venv", "--quiet", "--python", version, str(folder / "python")], root, f"{failed} of {version}")
            _run([*uv, "pip", "install", "--python", str(python), *packages], root, failed)
        stamp_file.write_text(stamp, encoding="utf-8")
    return python


def _python_in(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _version_of(python: Path) -> str:
    """As in "3.11"; empty where it does not run."""
    try:
        outcome = subprocess.run(  # noqa: S603 - a Python that we made
            [str(python), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return ""
    return outcome.stdout.strip() if outcome.returncode == 0 else ""


def _run(command: list[str], root: Path, failed: str) -> None:
    """Run a program of ours in `root`. Raises DeployError with the end of its output."""
    outcome = subprocess.run(  # noqa: S603 - our own command
        command,
        cwd=root,
        env={**os.environ, "PYTHONUTF8": "1"},  # Windows reads files in another encoding otherwise
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if outcome.returncode:
        output = (outcome.stderr.strip() or outcome.stdout.strip())[-800:]
        raise DeployError(f"{failed}: {' '.join(command)} ended with {outcome.returncode}: {output}")
