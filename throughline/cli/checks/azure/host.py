"""The functions host of each app: its status, its answer at `/`, its log."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import requests

from throughline.cli.checks.azure.apps import FunctionApp
from throughline.cli.checks.azure.deployed import Deployed
from throughline.cli.checks.azure.reading import WEB, WORKSPACES, listed
from throughline.cli.checks.findings import CheckResult, bad, good, unseen
from throughline.cli.deploy.azure_cli import AzureCliError

_ERRORS = (
    (
        re.compile(r"AuthorizationPermissionMismatch|not authorized to perform this operation using this perm"),
        "host-role",
    ),
    (re.compile(r"AuthorizationFailure|not authorized to perform this operation"), "host-network"),
)
"""Patterns in the host's own error, the most exact first, and the rule for each."""

_SILENT = re.compile(r"ServiceUnavailable|Service Unavailable|from host runtime|Gateway ?Time-?out|Bad Gateway")
_RESTART = 60.0
"""Seconds: a host that has been up for less is asked again. It starts, or it starts again and again."""
_AGAIN = 45.0
"""Seconds until then: longer than the half minute after which a host without storage ends."""
_LONGEST = 300
"""Characters of a host's error that are shown."""


def status(deployed: Deployed, app: FunctionApp) -> Iterator[CheckResult]:
    """The host's own status, through Resource Manager, which needs no key of the app."""
    subject = f"{app.part}'s host"
    host_status = _asked(deployed, app)
    if host_status is None:
        yield bad("host-silent", subject, f"the host of {app.name} does not answer", **app.places)
        return
    errors = " ".join(" ".join(host_status.get("errors") or ()).split())
    if host_status.get("state") == "Error" or errors:
        yield _failed(app, subject, f"state Error: {errors or 'it gives no reason'}")
    elif _restarts(deployed, app, host_status):
        problem = f"{app.name} was up for less than {_RESTART:.0f} s, and {_AGAIN:.0f} s later again"
        yield bad("host-restarts", subject, problem, **app.places)
    else:
        yield good(subject, f"{host_status.get('state')}, version {host_status.get('version')}")


def _asked(deployed: Deployed, app: FunctionApp) -> Mapping[str, Any] | None:
    """The host's status; None where it does not answer. Raises AzureCliError for what is not the host's fault."""
    try:
        answer = deployed.az.json(
            "rest", "--method", "get", "--url", f"{app.id}/hostruntime/admin/host/status?api-version={WEB}"
        )
    except AzureCliError as error:
        if _SILENT.search(str(error)):
            return None
        raise
    host_status: Mapping[str, Any] = answer.get("properties", answer)
    return host_status


def _failed(app: FunctionApp, subject: str, words: str) -> CheckResult:
    """The finding for a host that did not start, by its error."""
    code = next((code for pattern, code in _ERRORS if pattern.search(words)), "host-error")
    return bad(code, subject, words[:_LONGEST], **app.places)


def _restarts(deployed: Deployed, app: FunctionApp, host_status: Mapping[str, Any]) -> bool:
    """Whether a young host is young again when it is asked later."""
    if _uptime(host_status) >= _RESTART:
        return False
    deployed.target.pause(_AGAIN)
    later_status = _asked(deployed, app)
    return later_status is None or _uptime(later_status) < _AGAIN


def _uptime(host_status: Mapping[str, Any]) -> float:
    """Seconds since the host's process began; one that does not report it counts as old."""
    return float(host_status.get("processUptime") or _RESTART * 1000) / 1000


_TIMEOUT = 15.0
_ROOT: Mapping[int, str] = {503: "root-503", 403: "app-closed"}


def root(deployed: Deployed, app: FunctionApp) -> Iterator[CheckResult]:
    """What `GET /` answers: the host's start page, with no key."""
    subject = f"{app.part} at /"
    scheme = deployed.outputs["RECEIVER_URL"].partition("://")[0]
    url = f"{scheme}://{app.host}/"
    try:
        answer = requests.get(url, timeout=_TIMEOUT, allow_redirects=False)
    except requests.RequestException as error:
        problem = f"no answer ({type(error).__name__}) at {url}"
        yield unseen("app-unreachable", subject, problem, **app.places, url=url)
        return
    code = _ROOT.get(answer.status_code)
    answer_text = f"{answer.status_code} at {url}"
    if code == "app-closed":
        yield unseen(code, subject, answer_text, **app.places)
    elif code:
        yield bad(code, subject, answer_text, **app.places)
    else:
        yield good(subject, answer_text)


_LINES = """
let Lines = union isfuzzy=true
    (AppTraces | project TimeGenerated, AppRoleName, Text = Message),
    (AppExceptions | project TimeGenerated, AppRoleName,
        Text = strcat(tostring(Properties.FormattedMessage), " ", OuterMessage, " ", InnermostMessage));
Lines
| where TimeGenerated > ago(1h)
| extend Kind = case(
    Text has "host error has occurred during startup", "startup",
    Text has "Host is shutting down", "ended",
    Text startswith "sweep" and Text has "undelivered=", "sweep", "")
| where Kind != ""
| summarize Times = count(), Last = max(TimeGenerated), Text = take_any(Text),
    Undelivered = sum(toint(extract(@"undelivered=(\\d+)", 1, Text))) by Kind, App = tolower(AppRoleName)
"""
"""One row for each kind of line and app: how often in the last hour, when last, one of them."""

_LOGS: Mapping[str, str] = {
    "AzureCloud": "https://api.loganalytics.io",
    "AzureUSGovernment": "https://api.loganalytics.us",
    "AzureChinaCloud": "https://api.loganalytics.azure.cn",
}
"""Endpoints of Log Analytics by the CLI's names of clouds."""

_OFTEN = 3
"""Ends of a host in an hour: a deployment and a scaling explain two."""
_QUIET = timedelta(minutes=15)


def logs(deployed: Deployed, apps: tuple[FunctionApp, ...]) -> Iterator[CheckResult]:
    """What the hosts and the sweeper have logged in the last hour."""
    workspaces = deployed.resource("Microsoft.OperationalInsights/workspaces")
    workspace = next(iter(listed(deployed.az, workspaces, WORKSPACES)), None)
    if workspace is None:
        yield unseen("azure-error", "logs", f"{deployed.group} has no Log Analytics workspace")
        return
    place = _LOGS.get(deployed.cloud, _LOGS["AzureCloud"])
    answer = deployed.az.json(
        *("rest", "--method", "post", "--resource", place),
        *("--url", f"{place}/v1/workspaces/{workspace['properties']['customerId']}/query"),
        *("--body", json.dumps({"query": _LINES})),
    )
    rows = list(_rows(answer))
    for app in apps:
        yield from _logged(app, {row["Kind"]: row for row in rows if row["App"] == app.name.lower()})


def _rows(answer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for table in answer.get("tables") or ():
        names = [column["name"] for column in table["columns"]]
        yield from (dict(zip(names, row, strict=True)) for row in table["rows"])


def _logged(app: FunctionApp, rows: Mapping[str, Mapping[str, Any]]) -> Iterator[CheckResult]:
    subject = f"{app.part}'s log"
    startup, host_ends, sweep = rows.get("startup"), rows.get("ended"), rows.get("sweep")
    wrong = []
    if startup:
        words = f"Host.Startup[515], {startup['Times']} times in an hour: {startup['Text']}"
        wrong.append(_failed(app, subject, words))
    if host_ends and int(host_ends["Times"]) >= _OFTEN:
        wrong.append(
            bad("host-restarts", subject, f"the host ended {host_ends['Times']} times in an hour", **app.places)
        )
    if app.part == "worker":
        wrong += _swept(app, subject, sweep)
    startup_text = "no failed start in the last hour" + (", the sweeper runs" if sweep else "")
    yield from wrong or [good(subject, startup_text)]


def _swept(app: FunctionApp, subject: str, sweep: Mapping[str, Any] | None) -> Iterator[CheckResult]:
    last = datetime.fromisoformat(str(sweep["Last"])) if sweep else None
    if last is None or datetime.now(UTC) - last > _QUIET:
        when = f"the last sweep was logged at {last:%H:%M} UTC" if last else "no sweep was logged in the last hour"
        yield bad("sweeper-silent", subject, when, **app.places)
    elif sweep and int(sweep["Undelivered"] or 0):
        problem = f"{sweep['Undelivered']} runs had events that no trigger delivered"
        yield bad("undelivered", subject, problem, **app.places)
