"""Proofs about the deployment: its template, roles, keys, the swap, the alert of a stopped receiver."""

import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from threading import Event
from typing import Any

from shared.canary.hops import FAIL, canary_run
from throughline.cli.checks.azure import rights
from throughline.cli.checks.azure.apps import apps_of, parts_of
from throughline.cli.checks.findings import collected
from throughline.cli.deploy.progress import DeployError, PollLimits, Progress
from throughline.cli.deploy.receiver import ROUTE, DeployedReceiver, ProbeAnswer
from throughline.cli.deploy.record import template_words
from throughline.cli.deploy.target import from_azure
from throughline.cli.prove.evidence import Evidence, ProofContext, judged, not_run, refuted

OWNER = "prove"
_WORKS, _REFUSED, _CREATED = 400, 401, 201
_OUT_OF_REACH = frozenset({0, 403})
_CHANGES = frozenset({"Create", "Delete", "Modify"})
_MOST_NAMED = 8


def what_if(context: ProofContext) -> Mapping[str, Evidence]:
    """Ask Resource Manager what the template would change, with the parameters on record."""
    deployed = context.deployed
    command = ("deployment", "group", "what-if", "--resource-group", deployed.group, "--no-pretty-print")
    with template_words(deployed.parameters) as words:
        answer = deployed.az.json(*command, *words)
    changes = answer.get("changes") or ()
    counts = Counter(str(change["changeType"]) for change in changes)
    named = sorted({_type_and_paths(change) for change in changes if change["changeType"] in _CHANGES})
    facts = {f"resources_{kind.lower()}": number for kind, number in sorted(counts.items())}
    return {"template": judged("; ".join(named[:_MOST_NAMED]), **facts)}


def _type_and_paths(change: Mapping[str, Any]) -> str:
    """`Modify Microsoft.Web/sites: properties.x`: what would change of a resource, without its name."""
    parts = str(change["resourceId"]).rpartition("/providers/")[2].split("/")
    paths = sorted({str(delta.get("path")) for delta in change.get("delta") or ()})
    paths_text = f": {', '.join(paths[:_MOST_NAMED])}" if paths else ""
    return f"{change['changeType']} {'/'.join([parts[0], *parts[1::2]])}{paths_text}"


def roles(context: ProofContext) -> Mapping[str, Evidence]:
    """Compare the assigned roles with infra/roles.json."""
    _, apps = collected(apps_of(context.deployed))
    results = [result for app in apps for result in rights.roles(context.deployed, app)]
    missing = [result.found.partition(" on ")[0] for result in results if not result.good]
    if len(apps) < len(parts_of(context.deployed)):
        return {"roles": refuted("an app is missing", apps=len(apps))}
    return {"roles": judged("; ".join(missing), apps=len(apps), missing=len(missing))}


def keys(context: ProofContext) -> Mapping[str, Evidence]:
    """Post nothing with the right key, a wrong one and none; where Entra ID is on, with and without a token."""
    url, key, token = f"{context.sender.url.rstrip('/')}{ROUTE}", context.sender.key, context.sender.token()
    statuses = {
        "right_key": context.probe(url, key, token=token).status,
        "wrong_key": context.probe(url, "no-such-key", token=token).status,
        "no_key": context.probe(url, "", token=token).status,
    }
    if statuses["right_key"] in _OUT_OF_REACH:
        reason = f"the receiver cannot be reached from here ({statuses['right_key']})"
        return {"keys": not_run(reason), "entra": not_run(reason)}
    expected = {"right_key": _WORKS, "wrong_key": _REFUSED, "no_key": _REFUSED}
    results = {"keys": judged(_unlike(statuses, expected), **statuses)}
    if not token:
        return results | {"entra": not_run("senders need no token of Entra ID here")}
    tokens = {
        "both": statuses["right_key"],
        "without_token": context.probe(url, key).status,
        "without_key": statuses["no_key"],
    }
    expected = {"both": _WORKS, "without_token": _REFUSED, "without_key": _REFUSED}
    return results | {"entra": judged(_unlike(tokens, expected), **tokens)}


def _unlike(statuses: Mapping[str, int], expected: Mapping[str, int]) -> str:
    unlike = (name for name, status in expected.items() if statuses[name] != status)
    return "; ".join(f"{name} got {statuses[name]}, not {expected[name]}" for name in unlike)


def swap(context: ProofContext) -> Mapping[str, Evidence]:
    """Swap the slot into production and back while events are sent: each must be answered with 201."""
    receiver = _receiver(context)
    if not receiver.target.slot:
        return {"swap": not_run("this deployment has no slot")}
    package = _production(receiver, context).package
    statuses: Counter[int] = Counter()
    slowest, start = 0.0, time.monotonic()
    try:
        with _sending(context) as answers:
            receiver.roll_back()
            receiver.roll_back()
    except DeployError as error:
        return {"swap": refuted(f"the swap was undone: {error}")}
    finally:
        with uninterrupted():
            if package and _production(receiver, context).package != package:
                receiver.roll_back()
    for status, seconds in answers:
        statuses[status] += 1
        slowest = max(slowest, seconds)
    facts = {f"answers_{status}": number for status, number in sorted(statuses.items())}
    number_lost = sum(statuses.values()) - statuses[_CREATED]
    reason = f"{number_lost} of {sum(statuses.values())} requests were not answered with 201" if number_lost else ""
    seconds = round(time.monotonic() - start, 1)
    return {"swap": judged(reason, **facts, slowest_seconds=round(slowest, 2), seconds=seconds)}


@contextmanager
def _sending(context: ProofContext) -> Iterator[list[tuple[int, float]]]:
    """Send events of checks during the block, each of a run of its own that has failed; the answers as they come."""
    end_of_sending, answers = Event(), list[tuple[int, float]]()

    def send() -> None:
        while not end_of_sending.wait(0.25):
            answer = context.sender.send(canary_run(datetime.now(UTC), OWNER).bodies[FAIL])
            answers.append((answer.status, answer.seconds))

    with ThreadPoolExecutor(context.load) as pool:
        senders = [pool.submit(send) for _ in range(context.load)]
        try:
            yield answers
        finally:
            end_of_sending.set()
    for sender in senders:
        sender.result()


def stopped(context: ProofContext) -> Mapping[str, Evidence]:
    """Stop the receiver until an alert is raised about it, and start it again."""
    deployed, start = context.deployed, datetime.now(UTC)
    app = ("--resource-group", deployed.group, "--name", deployed.outputs["RECEIVER_NAME"])
    begin = time.monotonic()
    raised: list[str] = []
    try:
        deployed.az.json("functionapp", "stop", *app)
        while not raised and time.monotonic() - begin < context.alert_patience:
            time.sleep(context.pause)
            raised = sorted(_alerts(context, start))
    finally:
        with uninterrupted():
            deployed.az.json("functionapp", "start", *app)
    seconds = round(time.monotonic() - begin)
    works = _works_again(context)
    reason = "" if raised else f"no alert about the receiver within {seconds} s"
    reason = reason or ("" if works else "the receiver was started again and does not answer")
    return {"alerts": judged(reason, alerts=", ".join(raised), seconds=seconds)}


_RULES = ("receiver-stopped", "receiver-down", "receiver-unhealthy", "receiver-5xx", "resource-health")
_ALERTS = "2019-03-01"


def _alerts(context: ProofContext, since: datetime) -> Iterator[str]:
    """The rules about the receiver that have raised an alert since then, by the names in infra/alerts.json.

    https://learn.microsoft.com/rest/api/monitor/alertsmanagement/alerts/get-all
    """
    deployed = context.deployed
    subscription = deployed.group_id.partition("/resourceGroups/")[0]
    path = f"{subscription}/providers/Microsoft.AlertsManagement/alerts"
    query = f"api-version={_ALERTS}&timeRange=1h&targetResourceGroup={deployed.group}"
    for alert in deployed.az.json("rest", "--method", "get", "--url", f"{path}?{query}").get("value") or ():
        essentials = alert["properties"]["essentials"]
        rule = str(essentials["alertRule"]).lower()
        if datetime.fromisoformat(essentials["startDateTime"]) >= since:
            yield from (name for name in _RULES if rule.endswith(f"-{name}"))


def _works_again(context: ProofContext) -> bool:
    """Whether the receiver answers again, in the time that lineage may take."""
    end, receiver = time.monotonic() + context.patience, _receiver(context)
    while not (works := _production(receiver, context).status == _WORKS) and time.monotonic() < end:
        time.sleep(context.pause)
    return works


def _receiver(context: ProofContext) -> DeployedReceiver:
    deployed = context.deployed
    target = from_azure(deployed.group, deployed.name, deployed.outputs)
    post = partial(context.probe, token=context.sender.token())
    limits = PollLimits(seconds=context.patience, pause=min(context.pause, 5.0))
    after_swap = PollLimits(seconds=context.after_swap, pause=min(context.pause, 1.0))
    return DeployedReceiver(
        az=deployed.az, target=target, limits=limits, progress=Progress(), post=post, after_swap=after_swap
    )


def _production(receiver: DeployedReceiver, context: ProofContext) -> ProbeAnswer:
    return receiver.post(f"{context.sender.url.rstrip('/')}{ROUTE}", context.sender.key)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let nothing stop the block: what was changed is put back also after Ctrl-C, however often it is pressed."""
    earlier = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, earlier)
