"""The host's errors for an app that can't run: every problem, one sentence each, before anything starts."""

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from tests.local.hosting import APPS, PROJECT
from throughline.local.host.blobs import Pattern
from throughline.local.host.config import HostConfig, read_host_json
from throughline.local.host.http.routes import find_route, make_routes
from throughline.local.host.index import read_functions
from throughline.local.host.settings import AppError, expand, load_local_settings

HTTP = {"type": "httpTrigger", "direction": "in", "name": "req"}
TIMER = {"type": "timerTrigger", "direction": "in", "name": "timer", "schedule": "0 * * * * *"}


PLAIN = convert({"version": "2.0", "extensions": {"http": {"routePrefix": ""}}}, HostConfig)


def write(root: Path, name: str, *bindings: dict[str, Any], **properties: Any) -> Path:
    """Write a function folder and return its app's root."""
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "function.json").write_text(json.dumps({"bindings": bindings} | properties))
    return root


@pytest.mark.parametrize("bindings", [[], [HTTP, TIMER], [{"type": "queue", "direction": "out", "name": "q"}]])
def test_a_function_without_one_trigger_is_refused(tmp_path: Path, bindings: list[dict[str, Any]]) -> None:
    """The message names the folder and the supported triggers."""
    with pytest.raises(AppError, match=r"one: a function has exactly one trigger, this has \d .*timerTrigger"):
        read_functions(write(tmp_path, "one", *bindings))


def test_a_function_json_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (write(tmp_path, "b", HTTP) / "b" / "function.json").write_text("{")
    with pytest.raises(AppError, match=r"b/function\.json: can't be read as JSON:"):
        read_functions(tmp_path)


def test_disabled_functions_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By function.json or by setting; an app without enabled functions is an error."""
    write(tmp_path, "a", HTTP, disabled=True)
    write(tmp_path, "b", HTTP)
    assert [function.name for function in read_functions(tmp_path)] == ["b"]
    monkeypatch.setenv("AzureWebJobs.b.Disabled", "true")
    with pytest.raises(AppError, match="no function in"):
        read_functions(tmp_path)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{}", "host.json: Object missing required field `version`"),
        ("[]", "host.json: must hold a JSON object"),
        (
            '{"version": "2.0", "extensions": {"blobs": {"poisonBlobThreshold": "5"}}}',
            "host.json: Expected `int`, got `str` - at `$.extensions.blobs.poisonBlobThreshold`",
        ),
    ],
)
def test_problems_of_host_json_are_reported(tmp_path: Path, content: str, problem: str) -> None:
    """A missing file is a problem too."""
    (tmp_path / "host.json").write_text(content)
    with pytest.raises(AppError) as error:
        read_host_json(tmp_path)
    assert error.value.problems[0].endswith(problem)


def test_local_settings_complete_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment takes precedence; %NAME% is replaced by the value."""
    monkeypatch.setenv("SET_OUTSIDE", "outside")
    monkeypatch.setenv("SET_INSIDE", "gone after the test")
    monkeypatch.delenv("SET_INSIDE")
    values = {"SET_OUTSIDE": "inside", "SET_INSIDE": "inside"}
    (tmp_path / "local.settings.json").write_text(json.dumps({"IsEncrypted": False, "Values": values}))
    load_local_settings(tmp_path)
    assert expand("a/%SET_OUTSIDE%/%SET_INSIDE%") == "a/outside/inside"
    (tmp_path / "local.settings.json").write_text(json.dumps({"IsEncrypted": True, "Values": values}))
    with pytest.raises(AppError, match="encrypted settings can't be read"):
        load_local_settings(tmp_path)


@pytest.mark.parametrize(
    ("path", "blob", "matches"),
    [
        ("c/{name}", "a/b.json", True),
        ("c", "a/b", True),
        ("c/in/{day}/{name}.gz", "in/2026/01/x.gz", True),
        ("c/in/{name}.gz", "in/x.gz.tmp", False),
        ("c/fixed.txt", "fixed.txt", True),
        ("c/fixed.txt", "fixed_txt", False),
    ],
)
def test_a_blob_pattern_matches_names(path: str, blob: str, *, matches: bool) -> None:
    """A container, literals and names."""
    assert Pattern(path).matches(blob) == matches


@pytest.mark.parametrize(
    ("route", "path", "parameters"),
    [
        ("a/{x}", "/api/a/1", {"x": "1"}),
        ("a/{x?}", "/api/a", {}),
        ("a/{*x}", "/api/a/b/c", {"x": "b/c"}),
    ],
)
def test_a_route_template_matches_paths(
    tmp_path: Path, route: str, path: str, parameters: dict[str, str] | None
) -> None:
    """Templates have the syntax of ASP.NET."""
    functions = read_functions(write(tmp_path, "one", HTTP | {"route": route}))
    answer = find_route(make_routes(functions, HostConfig(version="2.0")), "GET", path)
    assert (answer[1] if answer else None) == parameters


def test_fixed_routes_take_precedence_over_routes_with_parameters(tmp_path: Path) -> None:
    """They take precedence over routes with parameters."""
    write(tmp_path, "a", HTTP | {"route": "{any}"})
    routes = make_routes(read_functions(write(tmp_path, "b", HTTP | {"route": "fixed"})), PLAIN)
    answers = [find_route(routes, "GET", path) for path in ("/fixed", "/other")]
    assert [answer[0].function.name for answer in answers if answer] == ["b", "a"]


def run_host(*arguments: str | Path) -> tuple[int, str]:
    """Run the command to its end; return its status and its output."""
    command = [sys.executable, "-m", "throughline.local.host", *arguments]
    outcome = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False, timeout=60)
    return outcome.returncode, outcome.stderr


def test_functions_that_cannot_be_imported_are_reported(tmp_path: Path) -> None:
    """Microsoft's runtime finds them; the host logs a line for each, and ends with status 2."""
    (tmp_path / "host.json").write_text('{"version": "2.0"}')
    write(tmp_path, "a", HTTP)
    (tmp_path / "a" / "__init__.py").write_text("import no_such_module")
    write(tmp_path, "b", HTTP)
    (tmp_path / "b" / "__init__.py").write_text("def main(other): ...")
    status, output = run_host("--root", tmp_path, "--port", "0")
    assert status == 2
    first, second = output.splitlines()[-2:]
    assert first == "a: can't be loaded: ModuleNotFoundError: No module named 'no_such_module'."
    assert second.startswith("b: can't be loaded: FunctionLoadError: cannot load the b function:")
    assert "declared in Python but not in function.json: {'other'}" in second


def test_a_busy_port_is_reported() -> None:
    """The error names the port and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as busy_socket:
        port = busy_socket.getsockname()[1]
        status, output = run_host("--root", APPS / "web", "--port", str(port))
    assert status == 2
    assert output.startswith(
        f"port {port} for the functions host can't be used (Address already in use): stop what listens"
    )
