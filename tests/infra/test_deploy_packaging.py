"""The package built from a new checkout without an environment, by the installer that the deployment sets up."""

import io
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from cli.deploy.errors import DeployError
from cli.deploy.packaging import build, delivery_of, find_python
from cli.deploy.progress import Progress
from local.package import Package
from local.toolchain.stamp import BUILD

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "cli",
    "local",
    "shared",
    "requirements",
    *(path.parent.name for path in ROOT.glob("*_function/function.json")),
)
FILES = (".python-version", "host.json", "requirements.txt")


@pytest.fixture(scope="module")
def checkout(package: Package, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone's files for building the package, with the packages that were installed for `package`."""
    assert package.archive.is_file()
    root = tmp_path_factory.mktemp("checkout")
    (root / "build").mkdir()
    (root / "build/package_dependencies").symlink_to(BUILD / "package_dependencies")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    for file in FILES:
        shutil.copyfile(ROOT / file, root / file)
    return root


def test_the_package_is_built_after_an_interrupted_set_up_and_sets_up_once(checkout: Path) -> None:
    half = checkout / "build/packaging/half"
    half.parent.mkdir()
    half.touch()
    shown = io.StringIO()
    archive = build("eventGrid", Progress(shown), root=checkout)
    assert archive == checkout / "build/package/throughline.zip"
    assert delivery_of(archive) == "eventGrid"
    with zipfile.ZipFile(archive) as package:
        assert any(name.endswith("/msgspec/__init__.py") for name in package.namelist())
    assert "install what makes the package (once): done" in shown.getvalue()
    assert not half.exists()
    again = io.StringIO()
    python = find_python(checkout, Progress(again))
    assert python.is_relative_to(checkout / "build/packaging")
    assert again.getvalue() == ""


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
