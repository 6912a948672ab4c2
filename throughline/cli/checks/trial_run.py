"""A START and a COMPLETE of a job that does not exist, posted as a listener posts them, followed to the catalog, and
withdrawn from there by a FAIL of the same run.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import requests

from shared.bootstrap import Worker
from shared.errors import CatalogRefused, Retry
from shared.http_errors import NO_ANSWER, name_of
from shared.model import Process
from shared.openlineage.decoding import decode
from shared.openlineage.selection import CHECK_APPLICATION, CHECKS
from shared.publishing.publisher_lease import remove_placeholders
from shared.translation.reference import translate_history
from throughline.cli.checks.findings import CheckResult, Places, bad, good

_STORE = "abfss://check@throughlinecheck.dfs.core.windows.net"
_JOB = f"{CHECK_APPLICATION}.execute_insert_into_hadoop_fs_relation_command.target"
_TIMEOUT = 30
_PAUSE = 0.5
_SLOW = 5.0
"""Seconds after which a listener with default settings gives up."""
START, COMPLETE, FAIL = "START", "COMPLETE", "FAIL"


def events(now: datetime, column: str) -> dict[str, bytes]:
    """The events of a run that writes `target` from `source`, by type: the FAIL withdraws what the others brought.
    `column` is new each time, so that a process that holds it was written after this.
    """
    field = {"namespace": _STORE, "name": "source", "field": column}
    output = {
        "namespace": _STORE,
        "name": "target",
        "facets": {"columnLineage": {"fields": {column: {"inputFields": [field]}}}},
    }
    common: dict[str, Any] = {
        "producer": "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": str(uuid4())},
        "job": {"namespace": CHECKS, "name": _JOB},
        "inputs": [{"namespace": _STORE, "name": "source", "facets": {}}],
        "outputs": [output],
    }
    moment = now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {
        kind: json.dumps(common | {"eventType": kind, "eventTime": moment}).encode() for kind in (START, COMPLETE, FAIL)
    }


def follow(
    parts: Worker, *, url: str, key: str, patience: float, places: Places, slow: float = _SLOW
) -> Iterator[CheckResult]:
    """Post, look for what comes of it for `patience` seconds, and withdraw it; ends with the first finding that is not
    good. An event that was kept is withdrawn in any case.

    An answer after `slow` seconds is too late for a listener. `places` fill the commands of rules. Raises
    CatalogUnavailable and CatalogRefused.
    """
    now = datetime.now(UTC)
    column = f"seen_{now:%Y%m%d_%H%M%S}_{uuid4().hex[:6]}"
    bodies = events(now, column)
    for kind in (START, COMPLETE):
        finding = _post(bodies[kind], kind, url=url, key=key, slow=slow, places={**places, "url": url})
        yield finding
        if not finding.good:
            return
    history = [decode(bodies[kind]) for kind in (START, COMPLETE)]
    (process,) = translate_history(history, names=parts.names).processes
    arrived = False
    try:
        waited, arrived = _awaited(lambda: column in _attributes(parts, process), patience)
    finally:
        withdrawn = _post(bodies[FAIL], WITHDRAWAL, url=url, key=key, slow=slow, places={**places, "url": url})
    if not arrived:
        yield bad("event-late", ARRIVAL, f"not there after {waited:.0f} s: {process.qualified_name}")
        return
    yield good(ARRIVAL, f"the process holds the new column after {waited:.0f} s")
    waited, gone = _awaited(lambda: not _attributes(parts, process), patience) if withdrawn.good else (0.0, False)
    if not gone:
        why = "" if withdrawn.good else f": {withdrawn.found}"
        yield bad("trial-left", WITHDRAWAL, f"still there after {waited:.0f} s{why}: {process.qualified_name}")
        return
    yield good(WITHDRAWAL, f"the process is gone after {waited:.0f} s, {_without_data_sets(parts, process)}")


def _awaited(done: Callable[[], bool], patience: float) -> tuple[float, bool]:
    """How many seconds something took, and whether it is done; it is looked for until the patience is over."""
    begun = time.monotonic()
    while not (found := done()) and time.monotonic() - begun <= patience:
        time.sleep(_PAUSE)
    return time.monotonic() - begun, found


def _attributes(parts: Worker, process: Process) -> str:
    """What the catalog holds of a process, as text; empty if it has none."""
    found = parts.catalog.read_processes([process.qualified_name]).get(process.qualified_name)
    return json.dumps(found.entity.attributes) if found else ""


def _without_data_sets(parts: Worker, process: Process) -> str:
    """Remove the placeholders of both data sets, as far as this identity may."""
    keys = sorted({asset.key for asset in (*process.inputs, *process.outputs)})
    try:
        left = remove_placeholders(parts, keys, wait=False).kept
    except (CatalogRefused, Retry):
        left = frozenset(keys)
    return f"but {len(left)} data sets stay: `throughline verify --fix` removes them" if left else "and its data sets"


ARRIVAL = "lineage in the catalog"
WITHDRAWAL = "withdrawal"
_CODES: Mapping[int, str] = {
    401: "receiver-key",
    403: "receiver-closed",
    404: "receiver-missing",
    503: "receiver-storage",
}
"""The rule for each answer of the receiver, or of Azure's front end before it."""


def _post(raw: bytes, subject: str, *, url: str, key: str, slow: float, places: Places) -> CheckResult:
    """Post one event, and judge the answer."""
    headers = {"Content-Type": "application/json; charset=UTF-8"} | ({"x-functions-key": key} if key else {})
    place = f"{url.rstrip('/')}/api/v1/lineage"
    begun = time.monotonic()
    try:
        answer = requests.post(place, data=raw, headers=headers, timeout=_TIMEOUT, allow_redirects=False)
    except NO_ANSWER as error:
        return bad("receiver-unreachable", subject, f"no answer ({name_of(error)}) at {url}", **places)
    took = time.monotonic() - begun
    if answer.status_code != 201:  # noqa: PLR2004 - HTTP's own number
        code = _CODES.get(answer.status_code, "receiver-error")
        return bad(code, subject, f"{answer.status_code} {answer.text[:200]}", **places)
    found = f"201 after {took * 1000:.0f} ms"
    return bad("receiver-slow", subject, found, **places) if took >= slow else good(subject, found)
