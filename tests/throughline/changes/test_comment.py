"""The comment of a pull request: the steps' own scripts with the real command, in a real repository, against a server
on loopback that keeps comments.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from ruamel.yaml import YAML

from shared.governance.checks.breakage import MARKER
from tests.support.shop import ORDERS, commit, git, make_repository

ROOT = Path(__file__).parents[3]
STEPS = {
    "github": (".github/actions/impact/action.yml", "COMMENTS"),
    "azure": (".azdo/pipelines/impact.yml", "THREADS"),
}


class Comments(ThreadingHTTPServer):
    """A pull request's comments by id: of GitHub below /issues, of Azure DevOps (one in a thread) below /threads."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.texts: dict[int, str] = {number: f"of a reviewer {number}" for number in range(1, 121)}
        self.status = 200

    def url(self, service: str) -> str:
        path = {"github": "repos/o/r/issues/7/comments", "azure": "pullRequests/7/threads"}[service]
        return f"http://127.0.0.1:{self.server_address[1]}/{path}"


class Answers(BaseHTTPRequestHandler):
    """Lists, adds and replaces comments for the one token."""

    server: Comments

    def answer(self) -> None:
        url, texts = urlsplit(self.path), self.server.texts
        content = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")
        payload: Any = {}
        status = self.server.status if self.headers["Authorization"] == "Bearer t0ken" else 401
        azure = "/threads" in url.path
        if status == 200 and self.command == "GET" and azure:
            threads = [{"id": key, "comments": [{"id": 1, "content": text}]} for key, text in texts.items()]
            payload = {"value": threads}
        elif status == 200 and self.command == "GET":
            page = int(url.query.rpartition("page=")[2]) - 1
            rows = [{"id": key, "body": text} for key, text in texts.items()]
            payload = rows[page * 100 : page * 100 + 100]
        elif status == 200:
            path = url.path.split("/")
            number = len(texts) + 1 if self.command == "POST" else int(path[-3 if azure else -1])
            assert self.command == "POST" or (path[3:5] == ["r", "issues"] or path[3] == "threads")
            texts[number] = content.get("content") or content.get("body") or content["comments"][0]["content"]
        self.send_response(status)
        body = json.dumps(payload).encode()
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PATCH = answer  # noqa: N815 - the names that http.server asks for

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@pytest.fixture
def server() -> Iterator[Comments]:
    with Comments() as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


COMMAND = """\
import sys
from tests.support.shop import recorded_shop
from throughline.cli.main import app
app(sys.argv[1:], obj=recorded_shop().worker)
"""
"""The command, with the record of the shop in memory."""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    make_repository(folder)
    git(folder, "update-ref", "refs/remotes/origin/main", "base")
    (tmp_path / "command.py").write_text(COMMAND)
    programs = {"throughline": f'"{tmp_path}/command.py" "$@"', "python3": '"$@"'}
    for name, arguments in programs.items():
        (tmp_path / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments}\n')
        (tmp_path / name).chmod(0o755)
    return folder


def push(
    server: Comments, service: str, repository: Path, model: str, *, fail: str = "false", commits: str = "base...HEAD"
) -> int:
    """Commit a model, and run the step's script as the runner does. The exit code."""
    commit(
        repository, {"dbt/models/staging/stg_orders.sql": model, "pushed.txt": f"{len(server.texts)} {model} {fail}"}
    )
    path, variable = STEPS[service]
    step = YAML(typ="safe", pure=True).load((ROOT / path).read_text())
    (single_step,) = step["runs"]["steps"] if service == "github" else step["steps"]
    environment = {
        "PATH": f"{repository.parent}:/usr/bin:/bin",
        "PYTHONPATH": str(ROOT),
        "RANGE": commits,
        "TARGET": f"refs/heads/{'main' if commits.startswith('base') else 'gone'}",
        "ARGUMENTS": "",
        "FAIL": fail,
        "TOKEN": "t0ken",
        "GITHUB_STEP_SUMMARY": str(repository.parent / "summary.md"),
        variable: server.url(service),
    }
    script = single_step["run"] if service == "github" else single_step["bash"]
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    outcome = subprocess.run(shell, cwd=repository, env=environment, check=False, capture_output=True, text=True)
    assert "t0ken" not in outcome.stderr + outcome.stdout
    return outcome.returncode


@pytest.mark.parametrize("service", STEPS)
def test_each_push_replaces_the_one_comment(server: Comments, service: str, repository: Path) -> None:
    assert push(server, service, repository, ORDERS.replace("amount, ", "")) == 0
    assert server.texts[121].startswith(f"{MARKER}\n")
    assert "drop `db.main.stg_orders.amount`" in server.texts[121]
    assert push(server, service, repository, ORDERS.replace("id", "id as id"), fail="true") == 0
    assert len(server.texts) == 121
    assert "**nothing breaks**" in server.texts[121]
    assert push(server, service, repository, "select 1 as id", fail="true") == 3
    assert "**breaks**" in server.texts[121]


@pytest.mark.parametrize("service", STEPS)
def test_a_failure_of_the_command_or_the_service_fails_the_step(
    server: Comments, service: str, repository: Path
) -> None:
    assert push(server, service, repository, "select 1", commits="gone...HEAD") == 2
    assert len(server.texts) == 120
    server.status = 403
    assert push(server, service, repository, ORDERS) == 1
