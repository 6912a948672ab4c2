"""`python -m throughline.package`: build the archive for Azure; the same files always give the same bytes.

It contains the functions, `shared/`, host.json, `names.toml`, `watch.toml` and `forward.toml` if they exist, the digest
of its files, and the packages that requirements.txt pins (checked by their hashes) for Linux on x86-64 in
`.python_packages/lib/site-packages`, where the Python worker finds them:
https://learn.microsoft.com/azure/azure-functions/functions-reference-python#package-management. All modules are
compiled, which saves a second of a cold start. The compiled files are of the unchecked kind (PEP 552), since Azure
mounts the archive with other file times.
"""

import argparse
import hashlib
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

from shared.errors import Misconfigured
from shared.forwarding.rules import parse_forward_rules
from shared.naming.user_rules import parse_names
from shared.versions import PACKAGE_FILE
from shared.watching.rules import parse_watch_rules
from throughline.local.toolchain.stamp import install_once
from throughline.project import BUILD, ROOT

FOLDER = BUILD / "package"
ARCHIVE = "throughline.zip"
UNPACKED = "app"
NAMES = "names.toml"
"""The file of names; with it THROUGHLINE_NAMES is /home/site/wwwroot/names.toml."""
WATCH = "watch.toml"
"""The rules of the watch; with it THROUGHLINE_WATCH is /home/site/wwwroot/watch.toml."""
FORWARD = "forward.toml"
"""Targets and rules of forwarding; with it THROUGHLINE_FORWARD is /home/site/wwwroot/forward.toml."""
DELIVERIES = ("eventGrid", "queue")
MAX_OUTSTANDING = 200
"""Requests that wait for an answer of one instance of the page and the API; the host answers more with 429."""
NEW_EVENTS = "new-events"
"""The queue of infra/main.bicep that Event Grid fills, with delivery=queue."""
PACKAGES = ".python_packages/lib/site-packages"
PYTHON = tuple(map(int, (ROOT / ".python-version").read_text(encoding="utf-8").split(".")))
"""The Python that wheels are chosen and files compiled for. A test compares it with infra/main.bicep."""

_PLATFORM = "x86_64-manylinux_2_28"
_ROOT_IN_AZURE = "/home/site/wwwroot"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the earliest time in a zip file
FUNCTIONS, LINEAGE = "functions", "lineage"
"""The apps: that of receiver and worker, and that of the page and the API."""
_OF_APP = {
    FUNCTIONS: ("host.json", "[!l]*_function/function.json", "[!l]*_function/*.py", "shared/**/*.py"),
    LINEAGE: (
        *("host.json", "lineage_function/function.json", "lineage_function/*.py", "viewer/*", "shared/*.py"),
        *(
            f"shared/{room}/**/*.py"
            for room in ["lineage", "openlineage", "serving", "settings", "storage", "telemetry", "texts"]
        ),
    ),
}
_OF_LINEAGE_ALONE = ("shared/bootstrap_lineage.py", "shared/serving/*.py")
_NOT_OF_LINEAGE = ("sqlglot*", "pyapacheatlas*", "openpyxl*", "et_xmlfile*", "tenacity*")
"""Packages of requirements.txt that only the parser and the catalog need."""
_METADATA = (
    "*.dist-info/METADATA",  # libraries read versions: Microsoft's exporter reads the SDK's at import
    "*.dist-info/entry_points.txt",  # OpenTelemetry finds its context and propagators by these
    "*.dist-info/licenses/*",  # the authors and licenses of redistributed code
    "*.dist-info/LICEN[CS]E*",
    "*.dist-info/NOTICE*",
)
_NOT_NEEDED = (
    "*.dist-info/*",  # other files for installers and linters
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
    """The package could not be built; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """An archive, the folder with the same content, the digest of its files, and the sizes of both in bytes."""

    archive: Path
    digest: str
    unpacked: Path
    files: int
    archive_size: int
    unpacked_size: int


def build(
    *,
    app: str = FUNCTIONS,
    delivery: str = "eventGrid",
    folder: Path = FOLDER,
    names: Path = ROOT / NAMES,
    watch: Path = ROOT / WATCH,
    forward: Path = ROOT / FORWARD,
) -> Package:
    """Build the archive in `folder`.

    `app`: FUNCTIONS, or LINEAGE, which has no parser. `delivery` is how the parser is notified of blobs: eventGrid (a
    webhook) or queue (a storage queue that Event Grid fills). `names`, `watch` and `forward` are the file of names and
    the rules of the watch and of forwarding, if they exist. Installed packages stay in `build/` until requirements.txt
    changes.

    Raises PackageError when this Python has another version than Azure's, the packages can't be installed, or one of
    these files is not valid.
    """
    if sys.version_info[:2] != PYTHON:
        version = ".".join(map(str, PYTHON))
        raise PackageError(f"The package contains files compiled by Python {version}: build it with that version")
    unpacked = folder / UNPACKED
    shutil.rmtree(unpacked, ignore_errors=True)
    for source in sources(app):
        target = unpacked / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(host_of_lineage(source) if app == LINEAGE else delivered_by(source, delivery))
        _compile(target, unpacked)
    rules = ((NAMES, names, parse_names), (WATCH, watch, parse_watch_rules), (FORWARD, forward, parse_forward_rules))
    for name, file, parse in rules:
        if file.is_file() and app == FUNCTIONS:
            (unpacked / name).write_bytes(_checked(file, parse))
    made_from = (ROOT / "requirements.txt", ROOT / ".python-version", Path(__file__))
    dependencies = install_once("package_dependencies", made_from, _install)
    ignored = shutil.ignore_patterns(*_NOT_OF_LINEAGE) if app == LINEAGE else None
    shutil.copytree(dependencies / "site", unpacked / PACKAGES, copy_function=shutil.copyfile, ignore=ignored)
    archive = folder / ARCHIVE
    files = sorted(path for path in unpacked.rglob("*") if path.is_file())
    digest = _digest(unpacked, files)
    (unpacked / PACKAGE_FILE).write_text(digest, encoding="ascii")
    files.append(unpacked / PACKAGE_FILE)
    _zip(archive, unpacked, files)
    return Package(
        archive=archive,
        digest=digest,
        unpacked=unpacked,
        files=len(files),
        archive_size=archive.stat().st_size,
        unpacked_size=sum(path.stat().st_size for path in files),
    )


def sources(app: str) -> list[Path]:
    """The files of an app in this repository, sorted."""
    lineage_files = (
        {path for pattern in _OF_LINEAGE_ALONE for path in ROOT.glob(pattern)} if app == FUNCTIONS else set()
    )
    return sorted({path for pattern in _OF_APP[app] for path in ROOT.glob(pattern) if path.is_file()} - lineage_files)


def host_of_lineage(source: Path) -> bytes:
    """Return a file's content; host.json gets what the app of the page and the API needs: no prefix of routes, since
    the page is at the root, and 429 for requests beyond those that wait.
    """
    if source.name != "host.json":
        return source.read_bytes()
    config = json.loads(source.read_bytes())
    config["extensions"] = {
        "http": {**config["extensions"]["http"], "routePrefix": "", "maxOutstandingRequests": MAX_OUTSTANDING}
    }
    return json.dumps(config, indent=2).encode() + b"\n"


def _checked(file: Path, parse: Callable[[str, str], object]) -> bytes:
    try:
        parse(file.read_text(encoding="utf-8"), str(file))
    except Misconfigured as error:
        raise PackageError(str(error)) from error
    return file.read_bytes()


def delivered_by(source: Path, delivery: str) -> bytes:
    """Return a file's content; function.json of the blob trigger gets the delivery, for which there is no setting."""
    content = source.read_bytes()
    if source.name != "function.json" or b'"blobTrigger"' not in content:
        return content
    config = json.loads(content)
    (binding,) = config["bindings"]
    if delivery == "queue":
        trigger = {"type": "queueTrigger", "queueName": NEW_EVENTS, "connection": binding["connection"]}
        config |= {"scriptFile": "from_queue.py", "bindings": [{"name": "notice", "direction": "in", **trigger}]}
    else:
        binding["source"] = "EventGrid"
    return json.dumps(config, indent=2).encode() + b"\n"


def _install(folder: Path) -> None:
    """Install the pinned packages into `site` for Azure's machines, and compile them."""
    site = folder / "site"
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", sys.executable, "--no-deps"]
    command += ["--python-version", ".".join(map(str, PYTHON)), "--python-platform", _PLATFORM, "--target", str(site)]
    command += ["--only-binary", ":all:", "--require-hashes", "-r", str(ROOT / "requirements.txt")]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own command
    if outcome.returncode:
        raise PackageError(f"requirements.txt could not be installed: {outcome.stderr.strip()[-500:]}")
    for path in [path for path in site.rglob("*") if path.is_file()]:
        if _is_needed(path.relative_to(site).as_posix()):
            _compile(path, site, place=f"{_ROOT_IN_AZURE}/{PACKAGES}")
        else:
            path.unlink()
    for path in sorted((path for path in site.rglob("*") if path.is_dir()), reverse=True):
        if not any(path.iterdir()):
            path.rmdir()


def _is_needed(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in _METADATA) or not any(
        fnmatch(name, pattern) for pattern in _NOT_NEEDED
    )


def _compile(path: Path, root: Path, *, place: str = _ROOT_IN_AZURE) -> None:
    """Put the compiled file beside a module.

    It uses marshal's format 2, which has no references to equal objects: these depend on the state of memory, so the
    same source would not always give the same bytes.
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


def _digest(root: Path, files: list[Path]) -> str:
    """Return the SHA-256 of the files' names and contents: the same for equal packages, whatever compressed them."""
    listing = "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(root).as_posix()}\n" for path in files
    )
    return hashlib.sha256(listing.encode()).hexdigest()


def _zip(archive: Path, root: Path, files: list[Path]) -> None:
    archive.unlink(missing_ok=True)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as target:
        for path in files:
            entry = zipfile.ZipInfo(path.relative_to(root).as_posix(), date_time=_LONG_AGO)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix: the permissions below apply
            entry.external_attr = 0o644 << 16
            target.writestr(entry, path.read_bytes())


def largest(package: Package, limit: int = 8) -> Iterator[tuple[str, int]]:
    """Return the largest top folders and packages with their bytes."""
    sizes: dict[str, int] = {}
    for path in package.unpacked.rglob("*"):
        if path.is_file():
            inside = path.relative_to(package.unpacked).as_posix()
            name = inside.removeprefix(f"{PACKAGES}/").partition("/")[0]
            sizes[name] = sizes.get(name, 0) + path.stat().st_size
    yield from sorted(sizes.items(), key=lambda size: -size[1])[:limit]


def main() -> int:
    """Run the command line; return 0, or 2 after an error message."""
    parser = argparse.ArgumentParser(prog="python -m throughline.package", description="Build the archive for Azure.")
    parser.add_argument("--delivery", choices=DELIVERIES, default="eventGrid", help="of notices")
    parser.add_argument("--app", choices=sorted(_OF_APP), default=FUNCTIONS, help="which app")
    parser.add_argument("--folder", type=Path, help="where to put it")
    options = parser.parse_args()
    try:
        folder = options.folder or (FOLDER if options.app == FUNCTIONS else FOLDER.with_name(f"package-{options.app}"))
        package = build(app=options.app, delivery=options.delivery, folder=folder)
    except PackageError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(
        f"{package.archive}: {package.archive_size / 1e6:.1f} MB, {package.unpacked_size / 1e6:.1f} MB unpacked, "
        f"{package.files:,} files, digest {package.digest}\n"
    )
    for name, size in largest(package):
        sys.stdout.write(f"  {size / 1e6:5.1f} MB  {name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
