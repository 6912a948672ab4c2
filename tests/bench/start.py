"""The CPU time of a start of `throughline`: the help of each command, and three commands up to their first call."""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.figures import ROOT, Figure, against_goals
from tests.bench.sizes import Sizes, Steps
from throughline.cli.main import GROUPS

NAME = "start"
_MOST = 0.4
"""Seconds of CPU that a start may take."""
_HELPS = (("--help",), *((name, "--help") for rows in GROUPS.values() for name in rows))
_CALLED = (("status",), ("run", "RUN"), ("show", "NAME"))


def measure(sizes: Sizes, steps: Steps) -> list[Figure]:
    """Measure user and system time of fresh processes: the best of the rounds, as other work only adds to it."""
    shown = _HELPS[: sizes.start_commands]
    steps.begin("starts", (sizes.start_rounds + 1) * (len(shown) + len(_CALLED)))
    with tempfile.TemporaryDirectory() as nobody:
        commands = (*shown, *((*command, "--home", nobody) for command in _CALLED))
        cpu = {command: [_cpu(command, steps) for _ in range(sizes.start_rounds + 1)] for command in commands}
    best = {command: min(seconds[1:]) for command, seconds in cpu.items()}  # the first may compile modules
    facts = {"rounds": sizes.start_rounds}
    helps = [(" ".join(command), best[command], "s CPU", _MOST) for command in shown]
    return [
        *against_goals(NAME, helps, facts),
        *(
            Figure(
                benchmark=NAME,
                name=f"{command[0]}, no world runs",
                value=best[command],
                unit="s CPU",
                compared_with="throughline --help",
                other=best[shown[0]],
                ratio=best[command] / best[shown[0]],
                sizes=facts,
            )
            for command in commands[len(shown) :]
        ),
    ]


def _cpu(command: tuple[str, ...], steps: Steps) -> float:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("Azure", "THROUGHLINE_"))}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its .pyc files
    path = Path(sys.executable).with_name("throughline")
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([path, *command], cwd=ROOT, env=environment, capture_output=True, check=False)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    steps.done()
    return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime
