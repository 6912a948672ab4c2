"""Engines that are Python packages, each in its own environment under build/, made at the first use.

The packages are those of requirements/NAME.txt, pinned with their hashes, or of NAME.txt in this folder.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from tests.capture.systems.postgres import postgres
from tests.capture.systems.system import System, SystemsError
from throughline.local.toolchain.stamp import install_once

_AIRFLOW_PROVIDERS = tuple(f"apache-airflow-providers-{name}" for name in ("openlineage", "common-sql", "postgres"))
_PINNED = Path(__file__).parents[4] / "requirements"
_LIST_VERSIONS = (
    "import json; from importlib.metadata import distributions;"
    "print(json.dumps({d.metadata['Name'].lower(): d.version for d in distributions()}))"
)


@contextmanager
def dbt() -> Iterator[System]:
    """Provide dbt with DuckDB and Spark, and OpenLineage's wrapper `dbt-ol`. Raises SystemsError."""
    yield _system("dbt", "openlineage-dbt", ("dbt-core", "dbt-duckdb"))


@contextmanager
def airflow() -> Iterator[System]:
    """Provide Airflow with the OpenLineage provider, and a PostgreSQL for its tasks. Raises SystemsError."""
    own_system = _system("airflow", "apache-airflow", _AIRFLOW_PROVIDERS)
    with postgres() as database:
        yield replace(
            own_system,
            arguments=database.arguments,
            stable_names=database.stable_names,
            versions={**own_system.versions, **database.versions},
        )


@contextmanager
def great_expectations() -> Iterator[System]:
    """Provide Great Expectations with OpenLineage's action, and a PostgreSQL with a table. Raises SystemsError."""
    base_system = _system("great_expectations", "great_expectations", ("openlineage-integration-common",))
    with postgres() as database:
        yield replace(
            base_system,
            environment={"GX_ANALYTICS_ENABLED": "false"},
            arguments=database.arguments,
            stable_names=database.stable_names,
            versions={**base_system.versions, **database.versions},
        )


@contextmanager
def python_client() -> Iterator[System]:
    """Provide the client with which Python programs send events. Raises SystemsError."""
    yield _system("python_client", "openlineage-python", ())


def _system(name: str, main: str, other_packages: tuple[str, ...]) -> System:
    """Return a system whose version is that of its `main` package; the versions of `other_packages` are kept too."""
    pinned = _PINNED / f"{name}.txt"
    requirements = pinned if pinned.exists() else Path(__file__).with_name(f"{name}.txt")
    folder = install_once(f"{name}_python", (requirements,), partial(_make, name, requirements))
    python = folder / ".venv" / "bin" / "python"
    versions = json.loads(_run([str(python), "-I", "-c", _LIST_VERSIONS], name))
    return System(
        python=python,
        versions={name: versions[main]} | {package: versions[package] for package in (main, *other_packages)},
    )


def _make(name: str, requirements: Path, folder: Path) -> None:
    uv = [sys.executable, "-m", "uv"]
    environment = folder / ".venv"
    _run([*uv, "venv", "--relocatable", "--python", sys.executable, str(environment)], name)
    python = str(environment / "bin" / "python")
    # As in throughline/local/toolchain/interpreter.py: fully pinned packages need no resolution.
    hashed = ["--no-deps", "--require-hashes"] if requirements.parent == _PINNED else []
    _run([*uv, "pip", "install", "--python", python, *hashed, "-r", str(requirements)], name)


def _run(command: list[str], name: str) -> str:
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    if outcome.returncode:
        last = outcome.stderr.strip().rpartition("\n")[2]
        raise SystemsError(f"The Python for {name} could not be made ({last}): is there a network?")
    return outcome.stdout
