"""`python -m local.package`: the archive that Azure runs, the same bytes whenever it is made from the same files.

It holds the functions, `shared/`, host.json, the file of names where `names.toml` lies beside that, the rules of the
watch where `watch.toml` does, and what requirements.txt pins (checked by its hashes) for Linux on x86-64 in
`.python_packages/lib/site-packages`, where the Python worker looks:
https://learn.microsoft.com/azure/azure-functions/functions-reference-python#package-management. All of it is compiled:
without that a cold start takes a second longer. The compiled files are of the kind that is not checked against its
source (PEP 552): the mount that Azure makes of an archive has times of its own.
"""

import argparse
import importlib.util
import json
import marshal
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from local.toolchain.stamp import BUILD, install_once
from shared.errors import Misconfigured
from shared.naming.user_rules import parse_names
from shared.watching.rules_file import parse_watch_rules

ROOT = Path(__file__).parents[1]
FOLDER = BUILD / "package"
ARCHIVE = "throughline.zip"
UNPACKED = "app"
NAMES = "names.toml"
"""The file of names: THROUGHLINE_NAMES is /home/site/wwwroot/names.toml then."""
WATCH = "watch.toml"
"""The rules of the watch: THROUGHLINE_WATCH is /home/site/wwwroot/watch.toml then."""
PACKAGES = ".python_packages/lib/site-packages"
PYTHON = tuple(map(int, (ROOT / ".python-version").read_text(encoding="utf-8").split(".")))
"""What wheels are chosen and files compiled for. A test holds infra/main.bicep to the same."""

_PLATFORM = "x86_64-manylinux_2_28"
_ROOT_IN_AZURE = "/home/site/wwwroot"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip file can say
_OF_APP = ("host.json", "*_function/function.json", "*_function/*.py", "shared/**/*.py")
_KEPT = (
    "*.dist-info/METADATA",  # libraries ask for their own version: Microsoft's exporter for the SDK's, at import
    "*.dist-info/entry_points.txt",  # OpenTelemetry finds its context and its propagators by these
    "*.dist-info/licenses/*",  # whose code is passed on, under which terms
    "*.dist-info/LICEN[CS]E*",
    "*.dist-info/NOTICE*",
)
_NOT_NEEDED = (
    "*.dist-info/*",  # what else installers and linters read
    "bin/*",
    "*/tests/*",
    "*/_testcapi*",
    "*.pyi",
    "*/py.typed",
    "*.pxd",
    "*.pyx",
    "*.c",
    "*.h",
    ".lock",
    ".stamp",
)
_SOURCE_HASH_LENGTH = 8
_UNCHECKED_HASH = 0b01


class PackageError(Exception):
    """The package could not be made; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """An archive, the folder with the same content, and the sizes of both in bytes."""

    archive: Path
    unpacked: Path
    files: int
    archive_size: int
    unpacked_size: int


def build(
    *,
    delivery: str = "eventGrid",
    folder: Path = FOLDER,
    cache: Path = BUILD,
    names: Path = ROOT / NAMES,
    watch: Path = ROOT / WATCH,
) -> Package:
    """Make the archive in `folder`. `delivery` is how the parser hears of blobs: eventGrid or polling; `names` and
    `watch`, where they are there: the file of names, and the rules of the watch.

    What is installed is kept in `cache` until requirements.txt changes.

    Raises PackageError when this Python is another one than Azure's, the packages can't be had, or one of these
    files is wrong.
    """
    if sys.version_info[:2] != PYTHON:
        wanted = ".".join(map(str, PYTHON))
        raise PackageError(f"The package holds files compiled by Python {wanted}: make it with that one")
    unpacked = folder / UNPACKED
    shutil.rmtree(unpacked, ignore_errors=True)
    for source in sorted({path for pattern in _OF_APP for path in ROOT.glob(pattern)}):
        target = unpacked / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(_delivered_by(source, delivery))
        _compile(target, unpacked)
    if names.is_file():
        (unpacked / NAMES).write_bytes(_checked(names, parse_names))
    if watch.is_file():
        (unpacked / WATCH).write_bytes(_checked(watch, parse_watch_rules))
    dependencies = install_once(
        "package_dependencies",
        (ROOT / "requirements.txt", ROOT / ".python-version", Path(__file__)),
        _install,
        build=cache,
    )
    shutil.copytree(dependencies / "site", unpacked / PACKAGES, copy_function=shutil.copyfile)
    archive = folder / ARCHIVE
    files = sorted(path for path in unpacked.rglob("*") if path.is_file())
    _zip(archive, unpacked, files)
    return Package(
        archive=archive,
        unpacked=unpacked,
        files=len(files),
        archive_size=archive.stat().st_size,
        unpacked_size=sum(path.stat().st_size for path in files),
    )


def _checked(file: Path, parse: Callable[[str, str], object]) -> bytes:
    try:
        parse(file.read_text(encoding="utf-8"), str(file))
    except Misconfigured as error:
        raise PackageError(str(error)) from error
    return file.read_bytes()


def _delivered_by(source: Path, delivery: str) -> bytes:
    """A file's content; the blob trigger says where its news come from, which no setting can say."""
    content = source.read_bytes()
    if source.name != "function.json" or delivery != "eventGrid":
        return content
    config = json.loads(content)
    for binding in config["bindings"]:
        if binding["type"] == "blobTrigger":
            binding["source"] = "EventGrid"
    return json.dumps(config, indent=2).encode() + b"\n"


def _install(folder: Path) -> None:
    """Install what is pinned into `site`, for Azure's machines whatever this one is, and compile it."""
    site = folder / "site"
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", sys.executable, "--no-deps"]
    command += ["--python-version", ".".join(map(str, PYTHON)), "--python-platform", _PLATFORM, "--target", str(site)]
    command += ["--only-binary", ":all:", "--require-hashes", "-r", str(ROOT / "requirements.txt")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own command
    if done.returncode:
        raise PackageError(f"requirements.txt could not be installed: {done.stderr.strip()[-500:]}")
    for path in [path for path in site.rglob("*") if path.is_file()]:
        if _is_needed(path.relative_to(site).as_posix()):
            _compile(path, site, place=f"{_ROOT_IN_AZURE}/{PACKAGES}")
        else:
            path.unlink()
    for path in sorted((path for path in site.rglob("*") if path.is_dir()), reverse=True):
        if not any(path.iterdir()):
            path.rmdir()


def _is_needed(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in _KEPT) or not any(fnmatch(name, each) for each in _NOT_NEEDED)


def _compile(path: Path, root: Path, *, place: str = _ROOT_IN_AZURE) -> None:
    """Put the compiled file beside a module.

    Written with marshal's format 2, which has no references to equal objects: those depend on what else is in memory,
    and the same source would not always give the same bytes.
    """
    if path.suffix != ".py":
        return
    source = path.read_bytes()
    code = compile(source, f"{place}/{path.relative_to(root).as_posix()}", "exec", dont_inherit=True, optimize=0)
    head = importlib.util.MAGIC_NUMBER + _UNCHECKED_HASH.to_bytes(4, "little")
    digest = importlib.util.source_hash(source)[:_SOURCE_HASH_LENGTH]
    target = Path(importlib.util.cache_from_source(str(path), optimization=""))
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(head + digest + marshal.dumps(code, 2))


def _zip(archive: Path, root: Path, files: list[Path]) -> None:
    archive.unlink(missing_ok=True)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as target:
        for path in files:
            entry = zipfile.ZipInfo(path.relative_to(root).as_posix(), date_time=_LONG_AGO)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix: the permissions below count
            entry.external_attr = 0o644 << 16
            target.writestr(entry, path.read_bytes())


def largest(package: Package, most: int = 8) -> Iterator[tuple[str, int]]:
    """What takes most of the room: top folders and packages with their bytes."""
    sizes: dict[str, int] = {}
    for path in package.unpacked.rglob("*"):
        if path.is_file():
            inside = path.relative_to(package.unpacked).as_posix()
            name = inside.removeprefix(f"{PACKAGES}/").partition("/")[0]
            sizes[name] = sizes.get(name, 0) + path.stat().st_size
    yield from sorted(sizes.items(), key=lambda each: -each[1])[:most]


def main() -> int:
    """Run the command line: 0, or 2 with one sentence."""
    parser = argparse.ArgumentParser(prog="python -m local.package", description="Make the archive that Azure runs.")
    parser.add_argument("--delivery", choices=["polling", "eventGrid"], default="eventGrid", help="of new blobs")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where to put it")
    options = parser.parse_args()
    try:
        package = build(delivery=options.delivery, folder=options.folder)
    except PackageError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(
        f"{package.archive}: {package.archive_size / 1e6:.1f} MB, {package.unpacked_size / 1e6:.1f} MB unpacked, "
        f"{package.files:,} files\n"
    )
    for name, size in largest(package):
        sys.stdout.write(f"  {size / 1e6:5.1f} MB  {name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
