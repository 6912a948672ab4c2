"""Routes, keys, bodies and settings."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.local.host_contract import Bench, contract_case
from tests.local.hosting import APPS
from throughline.local.host.config import read_host_json
from throughline.local.host.index import read_functions
from throughline.local.host.settings import AppError

KEY, OWN_KEY = "app-key", "echo-key"
DISABLED = {"AzureWebJobs.dotted.Disabled": "true", "AzureWebJobs_scored_Disabled": "1"}
NOT_DISABLED = {"AzureWebJobs__lines__Disabled": "true"}


def web_app(folder: Path) -> Path:
    """Return the sample app with functions to disable, one with a missing setting, and unknown keys in host.json."""
    app = folder / "app"
    shutil.copytree(APPS / "web", app)
    host = {"version": "2.0", "telemetryMode": "OpenTelemetry", "extensions": {"http": {"strange": 1}}, "other": {}}
    (app / "host.json").write_text(json.dumps(host))
    for name, route in (("dotted", "dotted"), ("scored", "scored"), ("lines", "lines"), ("broken", "%NOWHERE%")):
        shutil.copytree(APPS / "web" / "slow_hello", app / name)
        content = json.loads((app / name / "function.json").read_text())
        content["bindings"][0]["route"] = route
        (app / name / "function.json").write_text(json.dumps(content))
    return app


def write_keys(path: Path, *, own_key: str = OWN_KEY) -> None:
    """Write a key of the app, and one of the function echo."""
    functions = {"echo": {"default": own_key}} if own_key else {}
    keys = {"functionKeys": {"default": KEY}, "functions": functions}
    path.write_text(json.dumps(keys))


@contract_case("a key of the app opens all routes, a function's key its own, none and a wrong one are 401")
def _keys(bench: Bench) -> None:
    asked = [(path, key) for path in ("/api/v1/echo", "/api/slow") for key in (KEY, OWN_KEY, "", "wrong")]
    answered = [bench.ask("GET", path, key=key).status_code for path, key in asked]
    assert answered == [201, 201, 401, 401, 200, 401, 401, 401]
    assert bench.ask("GET", f"/api/v1/echo?code={KEY}", key="").status_code == 201
    assert bench.ask("GET", "/api/items/7/a", key="").status_code == 200, "anonymous"


@contract_case("a deleted key acts at once")
def _deleted_key(bench: Bench) -> None:
    try:
        write_keys(bench.keys, own_key="")
        assert bench.ask("GET", "/api/v1/echo", key=OWN_KEY).status_code == 401
    finally:
        write_keys(bench.keys)
    assert bench.ask("GET", "/api/v1/echo", key=OWN_KEY).status_code == 201


@contract_case("a wrong method is 404")
def _wrong_method(bench: Bench) -> None:
    assert [bench.ask(method, "/api/v1/echo").status_code for method in ("POST", "DELETE")] == [201, 404]


@contract_case("a chunked body arrives empty")
def _chunked_body(bench: Bench) -> None:
    assert bench.ask("POST", "/api/v1/echo", data=iter([b"lost"])).json()["body"] == ""


@contract_case("answers are chunked, without a Content-Length")
def _chunked_answer(bench: Bench) -> None:
    answer = bench.ask("GET", "/api/v1/echo")
    assert answer.headers["Transfer-Encoding"] == "chunked"
    assert "Content-Length" not in answer.headers
    assert answer.json()["method"] == "GET"


@contract_case("a disabled function is 404, by two of the three spellings of its setting")
def _disabled(bench: Bench) -> None:
    answered = [bench.ask("GET", f"/api/{route}").status_code for route in ("dotted", "scored", "lines")]
    assert answered == [404, 404, 200]


@contract_case("an unresolved %X% disables only its function")
def _unresolved(bench: Bench) -> None:
    assert "broken" not in bench.web.get("/admin/host/status")["functions"]
    assert bench.ask("GET", "/api/slow").status_code == 200
    log = bench.web.hosts[0].log.read_text()
    assert re.search(r"ERROR .*The 'broken' function is in error: there is no app setting %NOWHERE%", log)


@contract_case("unknown keys of host.json and telemetryMode are silently ignored")
def _unknown_keys(bench: Bench) -> None:
    assert bench.web.get("/admin/host/status")["state"] == "Running"
    assert "telemetryMode" not in bench.web.hosts[0].log.read_text()


@contract_case("bad values in host.json stop the host")
def _bad_values(bench: Bench) -> None:
    bad_parts: list[dict[str, Any]] = [
        {"version": "1"},
        {"functionTimeout": "ten"},
        {"extensions": {"http": {"maxConcurrentRequests": "64"}}},
        {"extensions": {"http": {"dynamicThrottlesEnabled": "no"}}},
        {"extensions": {"blobs": {"maxDegreeOfParallelism": 0}}},
    ]
    for bad_part in bad_parts:
        (bench.scratch / "host.json").write_text(json.dumps({"version": "2.0", **bad_part}))
        with pytest.raises(AppError, match=r"host\.json: .* at `\$\."):
            read_host_json(bench.scratch)


@contract_case("the host's own page is there")
def _home_page(bench: Bench) -> None:
    assert requests.get(f"{bench.web.url}/", timeout=60).status_code == 200


@contract_case("without a function there is nothing to run")
def _no_function(bench: Bench) -> None:
    with pytest.raises(AppError, match="no function in"):
        read_functions(bench.scratch / "empty")
