"""A stand-in for the program `az`: it answers from a table as Azure does, and records every call.

A file that an argument names (`--body @FILE`) is recorded by its content, since it is gone after the call. Like the
real one: `--query` is case-sensitive JMESPath; `--output` is json, tsv or none; the names of a deployment's
outputs are returned in another case; errors go to standard error as "ERROR: (Code) message" with an exit code. A call
without a matching answer is an error, as an unknown command is.

A test puts it on PATH: `stand_in = AzureStandIn(folder)`, `stand_in.answer("functionapp show", {...})`, then runs with
`stand_in.environment()`, and reads `stand_in.calls`.
"""

import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FIRST_CAPITALS = re.compile(r"^[A-Z](?:[A-Z](?=[A-Z]|$))*")
_PROGRAM = """#!{python} -IS
import sys
sys.path[:0] = [{root!r}, *{packages!r}]
from tests.infra.azure_stand_in import serve
sys.exit(serve({folder!r}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An error in the form of `az`. Without a code it is an error of `az` itself: `ERROR: message`."""

    message: str
    code: str = ""
    exit_code: int = 1

    def text(self) -> str:
        """Standard error of the call."""
        if not self.code:
            return f"ERROR: {self.message}\n"
        return f"ERROR: ({self.code}) {self.message}\nCode: {self.code}\nMessage: {self.message}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of `az`: the words of its command, its options (without a value: ""), and all arguments."""

    words: tuple[str, ...]
    options: Mapping[str, str]
    arguments: tuple[str, ...]

    @property
    def command(self) -> str:
        """The command, such as `functionapp keys list`."""
        return " ".join(self.words)


class AzureStandIn:
    """`az` in `folder`, with a table of answers. The last answer given for a command repeats."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._answers: list[dict[str, Any]] = []
        packages = [path for path in sys.path if path.endswith("site-packages")]
        program = _PROGRAM.format(
            python=sys.executable, root=str(Path(__file__).parents[2]), packages=packages, folder=str(folder)
        )
        (folder / "az").write_text(program)
        (folder / "az").chmod(0o755)
        self._save()

    def answer(self, command: str, *answers: Any, **options: str) -> None:
        """Answer calls of `command`, such as "functionapp show", that have these options: `resource_group="rg"`.

        Each answer is the command's JSON before `--query`, or a Failure. Calls get the answers in turn; the last one
        repeats. A later entry for the same calls takes precedence over an earlier one.
        """
        expected_options = {"--" + name.replace("_", "-"): value for name, value in options.items()}
        encoded_answers = [
            {"error": answer.text(), "exit": answer.exit_code} if isinstance(answer, Failure) else {"json": answer}
            for answer in answers or (None,)
        ]
        counter = f"answered-{len(self._answers)}"
        self._answers.insert(
            0, {"command": command.split(), "options": expected_options, "answers": encoded_answers, "id": counter}
        )
        self._save()

    def outputs(self, group: str, values: Mapping[str, Any], parameters: Mapping[str, Any] | None = None) -> None:
        """Add a deployment of infra/main.bicep with these outputs, whose names Resource Manager changes.

        As `az deployment group list` shows it, after the deployment of one of its modules.
        """
        parameter_values = (
            {"environmentName": "lineage", "purviewAccountName": "pv"} if parameters is None else parameters
        )
        outputs = {changed_case(name): {"type": "String", "value": value} for name, value in values.items()}
        properties = {
            "provisioningState": "Succeeded",
            "timestamp": "2026-11-20T10:01:00.123456+00:00",
            "parameters": {name: {"value": value} for name, value in parameter_values.items()},
            "outputs": outputs,
        }
        module = {"provisioningState": "Succeeded", "timestamp": "2026-11-20T10:02:00+00:00", "parameters": {}}
        deployments = [{"name": "roles-x", "properties": module}, {"name": "throughline", "properties": properties}]
        self.answer("deployment group list", deployments, resource_group=group)

    def environment(self, **variables: str) -> dict[str, str]:
        """Return an environment in which `az` is this stand-in."""
        path = os.pathsep.join([str(self.folder), os.environ.get("PATH", os.defpath)])
        return {"PATH": path, **variables}

    @property
    def calls(self) -> tuple[Call, ...]:
        """All calls, in order."""
        notes = self.folder / "calls.jsonl"
        lines = notes.read_text().splitlines() if notes.exists() else []
        return tuple(_call(json.loads(line)) for line in lines)

    def of(self, command: str) -> tuple[Call, ...]:
        """The calls of one command."""
        return tuple(call for call in self.calls if call.words[: len(command.split())] == tuple(command.split()))

    def _save(self) -> None:
        (self.folder / "answers.json").write_text(json.dumps(self._answers))


def changed_case(name: str) -> str:
    """Return an output's name as Resource Manager's serialiser changes it: `RECEIVER_NAME` to `receiveR_NAME`.

    The leading capitals become lower case, except the last one before another character (as in SCM_BUILD_ARGS to
    scM_BUILD_ARGS, https://github.com/Azure/azure-powershell/issues/342).
    """
    return _FIRST_CAPITALS.sub(lambda match: match[0].lower(), name)


def serve(folder: str) -> int:
    """Run the program: record and answer one call."""
    place = Path(folder)
    arguments = [_content(argument) if argument.startswith("@") else argument for argument in sys.argv[1:]]
    with (place / "calls.jsonl").open("a") as notes:
        notes.write(json.dumps(arguments) + "\n")
    call = _call(arguments)
    for entry in json.loads((place / "answers.json").read_text()):
        if not _fits(entry, call):
            continue
        answer = _turn(place / entry["id"], entry["answers"])
        if "error" in answer:
            sys.stderr.write(answer["error"])
            return int(answer["exit"])
        _print(answer["json"], call.options)
        return 0
    sys.stderr.write(f"ERROR: '{call.command}' is misspelled or not recognized by the system.\n")
    return 2


def _content(argument: str) -> str:
    file = Path(argument[1:])
    return file.read_text() if file.is_file() else argument


def _call(arguments: list[str]) -> Call:
    words: list[str] = []
    options: dict[str, str] = {}
    option = ""
    for argument in arguments:
        if argument.startswith("-"):
            option = argument
            options[option] = ""
        elif option:
            options[option] = f"{options[option]} {argument}".strip()
        else:
            words.append(argument)
    return Call(words=tuple(words), options=options, arguments=tuple(arguments))


def _fits(entry: Mapping[str, Any], call: Call) -> bool:
    options: Mapping[str, str] = entry["options"]
    return list(call.words) == entry["command"] and all(call.options.get(n) == v for n, v in options.items())


def _turn(counter: Path, answers: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the next answer; a file counts the calls of a command."""
    called = int(counter.read_text()) if counter.exists() else 0
    counter.write_text(str(called + 1))
    return answers[min(called, len(answers) - 1)]


def _print(value: Any, options: Mapping[str, str]) -> None:
    import jmespath  # noqa: PLC0415 - what az reads --query with; most calls do without its import

    if query := options.get("--query"):
        value = jmespath.search(query, value)
    output = options.get("--output", options.get("-o", "json"))
    if value is None or output == "none":
        return
    if output == "tsv":
        sys.stdout.write("\n".join(map(str, value)) if isinstance(value, list) else str(value))
    else:
        sys.stdout.write(json.dumps(value, indent=2))
    sys.stdout.write("\n")
