"""The data themselves, tested by the program `datacontract` (datacontract-cli), which is called and never imported.

It needs other versions of libraries than Throughline, so it is installed by itself. Of what it writes
(`--output-format json`, as of 1.2) only names, results and reasons are read, no samples of data.
"""

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import msgspec

from shared.errors import ThroughlineError
from shared.secrets import text_without_secrets
from throughline.contracts.reading import Contract

PROGRAM = "datacontract"


class DataTestError(ThroughlineError):
    """The program is missing, or did not write what it found; the text says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataTest:
    """The result of one test. `table`, `column`: of the contract, empty where it is about more; `has_passed`: None if
    it was not run.
    """

    name: str
    kind: str
    table: str = ""
    column: str = ""
    has_passed: bool | None = None
    reason: str = ""


class _Check(msgspec.Struct, frozen=True):
    name: str = ""
    type: str | None = None
    model: str | None = None
    field: str | None = None
    result: str | None = None
    reason: str | None = None


class _Report(msgspec.Struct, frozen=True):
    checks: tuple[_Check, ...] = ()


_VERDICTS = {"passed": True, "failed": False}


def tested_data(contract: Contract, server: str) -> tuple[DataTest, ...]:
    """Have the program test the data of a server. Raises DataTestError."""
    program = shutil.which(PROGRAM)
    if program is None:
        raise DataTestError(f"the program {PROGRAM} is not installed: run `pipx install 'datacontract-cli[all]'`")
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "results.json"
        command = [program, "test", contract.place, "--server", server]
        command += ["--output", str(report), "--output-format", "json"]
        outcome = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - no shell
        try:
            checks = msgspec.json.decode(report.read_bytes(), type=_Report).checks
        except (OSError, msgspec.DecodeError) as error:
            last_line = text_without_secrets(next(reversed(outcome.stderr.strip().splitlines()), ""))
            raise DataTestError(
                f"{PROGRAM} ended with {outcome.returncode} and wrote no results. {last_line}".strip()
            ) from error
    return tuple(
        DataTest(
            name=check.name,
            kind=check.type or "test",
            table=check.model or "",
            column=check.field or "",
            has_passed=_VERDICTS.get(check.result or "") if check.model else None,
            reason=text_without_secrets(check.reason or ""),
        )
        for check in checks
    )
