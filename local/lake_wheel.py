"""`python -m local.lake_wheel`: the wheel that a cluster needs: `shared/` and `spark_pipeline/`, without the functions.

It asks for what the core imports and nothing of Azure: PySpark, pandas, pyarrow and numpy are a cluster's own.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from local.toolchain.stamp import BUILD

ROOT = Path(__file__).parents[1]
FOLDER = BUILD / "lake-wheel"
_PACKAGES = ("shared", "spark_pipeline")
_LONG_AGO = "315532800"
"""1980, the earliest that a zip file can say: the same files give the same bytes (SOURCE_DATE_EPOCH)."""

_PROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "throughline-lake"
version = "{version}"
description = "Lineage tables from OpenLineage events, on Spark"
license = "MIT"
requires-python = ">=3.11"
dependencies = [{dependencies}]

[tool.hatch.build.targets.wheel]
packages = ["shared", "spark_pipeline"]
"""


class WheelError(Exception):
    """The wheel could not be built; the message says why."""


def build(folder: Path = FOLDER) -> Path:
    """The wheel, built into this folder. Raises WheelError."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    lines = (ROOT / "requirements" / "lake.in").read_text().splitlines()
    wanted = [line.partition("#")[0].strip() for line in lines]
    dependencies = ", ".join(f'"{each}"' for each in wanted if each)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        for package in _PACKAGES:
            shutil.copytree(ROOT / package, Path(place) / package, ignore=shutil.ignore_patterns("__pycache__"))
        (Path(place) / "pyproject.toml").write_text(_PROJECT.format(version=version, dependencies=dependencies))
        done = subprocess.run(  # noqa: S603 - our own interpreter
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder.resolve())],
            cwd=place,
            env={**os.environ, "SOURCE_DATE_EPOCH": _LONG_AGO},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise WheelError(f"The wheel could not be built: {done.stderr.strip() or done.stdout.strip()}")
    return folder / f"throughline_lake-{version}-py3-none-any.whl"


def main() -> int:
    """Build it and say where it is."""
    try:
        sys.stdout.write(f"{build()}\n")
    except WheelError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
