"""The package, the template and the tools are for one version of Python, that of `.python-version`."""

import re
import tomllib
from pathlib import Path

import pytest

from throughline.package import PYTHON

ROOT = Path(__file__).parents[2]
VERSION = ".".join(map(str, PYTHON))
PLACES = {"infra/main.bicep": r"^var pythonVersion = '([\d.]+)'$", "Makefile": r"--python-version ([\d.]+) "}
"""The files that contain the version because they can't read `.python-version`, and the pattern there."""


@pytest.mark.parametrize("place", PLACES)
def test_every_listed_file_has_the_python_version_of_the_package(place: str) -> None:
    assert re.findall(PLACES[place], (ROOT / place).read_text(), re.MULTILINE) == [VERSION]


def test_pipelines_use_no_other_python_version() -> None:
    files = [*(ROOT / ".github").rglob("*.yml"), *(ROOT / ".azdo").rglob("*.yml")]
    assert files
    pattern = r'(?:python-version|versionSpec): "([\d.]+)"'
    assert {version for file in files for version in re.findall(pattern, file.read_text())} == {VERSION}


def test_the_tools_check_for_that_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["mypy"]["python_version"] == VERSION
    assert project["tool"]["ruff"]["target-version"] == "py" + VERSION.replace(".", "")


def test_the_template_has_no_parameter_for_the_python_version() -> None:
    """A package of one version can't be imported on another: its extension modules and compiled files are for one."""
    assert "param pythonVersion" not in (ROOT / "infra/main.bicep").read_text()


def test_the_page_names_every_file_with_the_python_version() -> None:
    page = (ROOT / "docs/contribute/releasing.md").read_text().partition("## The next Python")[2]
    assert [place for place in (".python-version", *PLACES, "pyproject.toml") if f"`{place}`" not in page] == []
