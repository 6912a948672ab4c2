"""The package built from a new checkout without an environment, by the installer that the deployment sets up."""

import io
import shutil
import sys
from pathlib import Path

import pytest

from throughline.cli.deploy.packaging import build, find_python, read_package
from throughline.cli.deploy.progress import DeployError, Progress
from throughline.package import Package

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "shared",
    "throughline",
    "requirements",
    *(path.parent.name for path in ROOT.glob("*_function/function.json")),
)
FILES = (".python-version", "host.json", "requirements.txt")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone's files for building the package."""
    root = tmp_path_factory.mktemp("checkout")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    for file in FILES:
        shutil.copyfile(ROOT / file, root / file)
    return root


def test_the_package_is_built_after_an_interrupted_set_up_and_sets_up_once(checkout: Path, package: Package) -> None:
    """It equals the one that another Python built in another folder: builds are reproducible."""
    half = checkout / "build/packaging/half"
    half.parent.mkdir(parents=True)
    half.touch()
    progress_text = io.StringIO()
    archive = build("eventGrid", Progress(progress_text), root=checkout)
    assert archive == checkout / "build/package/throughline.zip"
    assert (read_package(archive).delivery, read_package(archive).digest) == ("eventGrid", package.digest)
    assert archive.read_bytes() == package.archive.read_bytes()
    assert "install what makes the package (once): done" in progress_text.getvalue()
    assert not half.exists()
    second_progress = io.StringIO()
    python = find_python(checkout, Progress(second_progress))
    assert python.is_relative_to(checkout / "build/packaging")
    assert second_progress.getvalue() == ""


def test_the_python_of_make_setup_is_used(checkout: Path) -> None:
    environment = checkout / ".venv"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin/python").symlink_to(sys.executable)
    (environment / ".ready").touch()
    assert find_python(checkout, Progress(io.StringIO())) == environment / "bin/python"
    shutil.rmtree(environment)


def test_the_error_of_a_failed_build_names_the_cause(checkout: Path) -> None:
    (checkout / "names.toml").write_text("[databrick]\n")
    with pytest.raises(DeployError, match=r"The package could not be made(?s:.*) there is no table databrick"):
        build("eventGrid", Progress(io.StringIO()), root=checkout)
