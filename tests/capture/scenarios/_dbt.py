"""A dbt project from its texts, and dbt's commands on it by OpenLineage's wrapper.

A script's folder is first on the path: scenarios import this as `_dbt`.
"""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path


def write_project(folder: Path, texts: Mapping[str, str]) -> None:
    """Write the files of a project, texts by path."""
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.lstrip())


def dbt(command: tuple[str, ...], project: Path, *, programs: Path, events: Path, code: int = 0) -> None:
    """Run a command of `dbt-ol`, which is in `programs` beside `dbt`; its events are added to the file `events`.

    Raises RuntimeError when it doesn't end with the exit code `code`.
    """
    full_command = [str(programs / "dbt-ol"), *command, "--project-dir", ".", "--profiles-dir", "."]
    environment = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "OPENLINEAGE__TRANSPORT__TYPE": "file",
        "OPENLINEAGE__TRANSPORT__LOG_FILE_PATH": str(events),
        "OPENLINEAGE__TRANSPORT__APPEND": "true",
        "OPENLINEAGE_NAMESPACE": "default",
    }
    process = subprocess.run(full_command, cwd=project, env=environment, check=False)
    if process.returncode != code:
        raise RuntimeError(f"`{' '.join(full_command)}` ended with {process.returncode}, not {code}")
