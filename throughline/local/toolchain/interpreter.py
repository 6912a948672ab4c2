"""The Python that runs Spark jobs: this one with its PySpark 3.5, or one made for another version.

`build/spark4` and `build/spark3` are made at their first use, by uv from requirements/spark4.txt and spark3.txt, which
pin packages with their hashes.
"""

import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from throughline.local.errors import LocalError
from throughline.local.toolchain.installing import run_installer
from throughline.local.toolchain.stamp import install_once
from throughline.local.toolchain.versions import Platform
from throughline.project import ROOT

_REQUIREMENTS = ROOT / "requirements"


class InterpreterError(LocalError):
    """The Python for a version of Spark could not be made; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A Python and its installed Spark."""

    python: Path
    spark_home: Path


def own() -> Interpreter:
    """Return this process's Python. PySpark is found without an import, which would take most of a second."""
    pyspark = find_spec("pyspark")
    if pyspark is None or pyspark.origin is None:
        raise InterpreterError(
            "pyspark is not installed: run `make setup` in a checkout, or install the wheel with its extra: "
            "pip install 'PATH_OF_WHEEL[lake]'"
        )
    return Interpreter(python=Path(sys.executable), spark_home=Path(pyspark.origin).parent)


def made_for(platform: Platform) -> Interpreter:
    """Return the separate Python of this version of Spark, made at its first use.

    Raises InterpreterError with the installer's message.
    """
    return pinned(f"spark{platform.major}")


def pinned(name: str) -> Interpreter:
    """Return the Python with the PySpark of requirements/NAME.txt, made in build/NAME at its first use.

    Raises InterpreterError with the installer's message.
    """
    requirements = _REQUIREMENTS / f"{name}.txt"

    def make(folder: Path) -> None:
        environment = folder / ".venv"
        _uv("venv", "--relocatable", "--python", sys.executable, str(environment))
        python = str(environment / "bin" / "python")
        # The file pins all packages. To resolve it, uv would build PySpark's source distribution for its metadata, even
        # with the built wheel in its cache: half a minute and 900 MB each time.
        _uv("pip", "install", "--python", python, "--no-deps", "--require-hashes", "-r", str(requirements))

    environment = install_once(name, (requirements,), make) / ".venv"
    (spark_home,) = environment.glob("lib/python3*/site-packages/pyspark")
    return Interpreter(python=environment / "bin" / "python", spark_home=spark_home)


def _uv(*arguments: str) -> None:
    problem = "Spark's Python could not be made (is there a network, and does it reach PyPI?)"
    run_installer([sys.executable, "-m", "uv", *arguments], problem, error=InterpreterError)
