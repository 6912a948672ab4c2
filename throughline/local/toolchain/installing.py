"""Run the programs that download and install: uv, npm, Java."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from throughline.local.errors import LocalError
from throughline.local.toolchain.certificates import certificate_advice, with_certificates

UV_INSTALL = (sys.executable, "-m", "uv", "pip", "install", "--python", sys.executable)
_LONGEST = 2000


def run_installer(
    command: Sequence[str], problem: str, *, folder: Path | None = None, error: type[LocalError] = LocalError
) -> None:
    """Run a command (in `folder`, by default the current one), which trusts the network's certificates.

    If it fails, raises `error`: `problem`, which says what failed and what to check, and the end of its output.
    """
    outcome = subprocess.run(  # noqa: S603 - our own commands
        command, cwd=folder, env=with_certificates(), capture_output=True, text=True, check=False
    )
    if outcome.returncode:
        output = (outcome.stdout + outcome.stderr).strip()
        raise error(f"{problem}: {output[-_LONGEST:]}{certificate_advice(output)}")
