"""The receiver's cold import, against that of `azure.functions` alone: our own share of a cold start.

It is measured in the checkout, and in the package for Azure with an identity instead of a connection string.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.bench.figures import ROOT, Figure, Rounds
from tests.bench.sizes import Sizes, Steps
from tests.bench.worker import BenchError
from throughline.local.azurite import ACCOUNT, KEY
from throughline.package import PACKAGES, Package, PackageError, build

NAME = "import"
_BESIDE = "import azure.functions"

_STATEMENTS = {
    "alone": "import azure.functions",
    "module": "import receiver_function",
    "first call": "import receiver_function; from shared.bootstrap_receiver import receiver; receiver()",
}
_MEASURED = """\
import time
wall, cpu = time.perf_counter(), time.process_time()
{}
print(time.process_time() - cpu, time.perf_counter() - wall)
"""
_LINE = re.compile(r"import time:\s*(\d+) \|\s*\d+ \|\s*(\S+)$")
_MOST_MS = 400
"""How long the first event of a fresh process may wait in addition to the platform's own start."""

_IDENTITY = {
    "AzureWebJobsStorage__blobServiceUri": "https://nobody.blob.core.windows.net/",
    "AzureWebJobsStorage__tableServiceUri": "https://nobody.table.core.windows.net/",
    "AzureWebJobsStorage__clientId": "00000000-0000-0000-0000-000000000000",
}
_SHOWN = 5
_LISTED = 3
_PARTS = {"azure": 3, "shared": 2}
"""How many parts of a module's name identify it where the first is too general."""


def measure(sizes: Sizes, steps: Steps) -> list[Figure]:
    """Measure the CPU time of importing the receiver, without and with the set-up of its first call."""
    steps.begin("cold import", sizes.import_rounds * len(_STATEMENTS) + 1)
    cpu: dict[str, list[float]] = {name: [] for name in _STATEMENTS}
    wall: dict[str, list[float]] = {name: [] for name in _STATEMENTS}
    _python("-c", _STATEMENTS["first call"])  # so that everything is compiled
    for _ in range(sizes.import_rounds):
        for name, statement in _STATEMENTS.items():
            processor, clock = map(float, _python("-c", _MEASURED.format(statement)).stdout.split())
            cpu[name].append(processor)
            wall[name].append(clock)
            steps.done()
    expensive = _most_expensive(_STATEMENTS["first call"], min(_LISTED, sizes.import_rounds))
    steps.done()

    def figure(name: str, title: str, times: dict[str, list[float]], unit: str, *, with_list: bool) -> Figure:
        # The best of each side: other work on the machine can only add time to an import.
        best = Rounds(ours=[min(times[name])], others=[min(times["alone"])])
        return best.figure(
            benchmark=NAME,
            name=title,
            scale=1000,
            unit=unit,
            compared_with=_BESIDE,
            sizes={"rounds": sizes.import_rounds},
            details={"most_expensive_ms": expensive} if with_list else {},
        )

    return [
        figure("module", "the receiver's module", cpu, "ms CPU", with_list=False),
        figure("first call", "and its first call's parts", cpu, "ms CPU", with_list=True),
        figure("first call", "the same by the clock", wall, "ms", with_list=False),
        _packaged(sizes, steps),
    ]


def _packaged(sizes: Sizes, steps: Steps) -> Figure:
    """Measure the milliseconds of CPU above `azure.functions` alone, in the package as built."""
    steps.begin("cold import from the package", sizes.import_rounds + 1)
    with tempfile.TemporaryDirectory() as folder:
        try:
            package = build(folder=Path(folder))
        except PackageError as error:
            raise BenchError(str(error)) from error
        steps.done()
        import_times, call_times = [], []
        for _ in range(sizes.import_rounds):
            import_times.append(_in_package(package, _STATEMENTS["alone"]))
            call_times.append(_in_package(package, _STATEMENTS["first call"]))
            steps.done()
    difference = min(call_times) - min(import_times)
    return Rounds(ours=[difference], others=[_MOST_MS / 1000]).figure(
        benchmark=NAME,
        name="in the package, above it",
        scale=1000,
        unit="ms CPU",
        compared_with=f"{_MOST_MS} ms above it",
        goal="<= 1",
        sizes={"rounds": sizes.import_rounds},
        details={"alone_ms": round(min(import_times) * 1000, 1), "whole_ms": round(min(call_times) * 1000, 1)},
    )


def _in_package(package: Package, statement: str) -> float:
    """Return the CPU seconds of a statement in a Python that has only the package."""
    paths = [str(package.unpacked / PACKAGES), str(package.unpacked)]
    code = f"import sys; sys.path[:0] = {paths!r}\n{_MEASURED.format(statement)}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AzureWebJobs")}
    outcome = subprocess.run(
        [sys.executable, "-S", "-c", code],
        cwd=package.unpacked,
        env={**environment, **_IDENTITY},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(outcome.stdout.split()[0])


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Return a fresh interpreter in the app's folder; its settings name a storage account that is never called."""
    nowhere = (
        f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};"
        f"BlobEndpoint=http://127.0.0.1:1/{ACCOUNT};TableEndpoint=http://127.0.0.1:1/{ACCOUNT};"
    )
    environment = {**os.environ, "AzureWebJobsStorage": nowhere}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # the deployed package has its .pyc files
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)


def _most_expensive(statement: str, times: int) -> dict[str, float]:
    """Return the slowest packages with their own milliseconds, without their imports: the best of several runs."""
    best: Counter[str] = Counter()
    for turn in range(times):
        spent: Counter[str] = Counter()
        for line in _python("-X", "importtime", "-c", statement).stderr.splitlines():
            match = _LINE.match(line)
            if match:
                parts = match[2].split(".")
                spent[".".join(parts[: _PARTS.get(parts[0], 1)])] += int(match[1])
        best = best & spent if turn else spent
    return {name: round(microseconds / 1000, 1) for name, microseconds in best.most_common(_SHOWN)}
