"""A START and a COMPLETE of a job that does not exist, posted as a listener posts them, and followed to the catalog."""

import json
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import requests

from cli.checks.findings import CheckResult, Places, bad, good
from shared.atlas.entities import process_entity
from shared.bootstrap import Worker
from shared.http_errors import NO_ANSWER, name_of
from shared.openlineage.decoding import decode
from shared.translation.reference import translate_history

NAMESPACE = "throughline-doctor"
_HOST = "throughlinedoctor.dfs.core.windows.net"
_STORE = f"abfss://doctor@{_HOST}"
_JOB = "throughline_doctor.execute_insert_into_hadoop_fs_relation_command.target"
_TIMEOUT = 30
_PAUSE = 0.5
_SLOW = 5.0
"""Seconds after which a listener with default settings gives up."""


def events(now: datetime, column: str) -> list[bytes]:
    """Both events of a run that writes `target` from `source`; `column` is new each time, so that a process that
    holds it was written after this.
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
        "job": {"namespace": NAMESPACE, "name": _JOB},
        "inputs": [{"namespace": _STORE, "name": "source", "facets": {}}],
        "outputs": [output],
    }
    moment = now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return [json.dumps(common | {"eventType": kind, "eventTime": moment}).encode() for kind in ("START", "COMPLETE")]


def of_trial_run(qualified_name: str) -> bool:
    """Whether a data set is one of the trial run's, and so no data of the estate."""
    return qualified_name.startswith(f"https://{_HOST}/")


def follow(
    parts: Worker, *, url: str, key: str, patience: float, places: Places, slow: float = _SLOW
) -> Iterator[CheckResult]:
    """Post, and look for what comes of it for `patience` seconds; ends with the first finding that is not good.

    An answer after `slow` seconds is too late for a listener. `places` fill the commands of rules. Raises
    CatalogUnavailable and CatalogRefused.
    """
    now = datetime.now(UTC)
    column = f"seen_{now:%Y%m%d_%H%M%S}_{uuid4().hex[:6]}"
    both = events(now, column)
    for raw, kind in zip(both, ("START", "COMPLETE"), strict=True):
        finding = _post(raw, kind, url=url, key=key, slow=slow, places={**places, "url": url})
        yield finding
        if not finding.good:
            return
    history = [decode(raw) for raw in both]
    (process,) = translate_history(history, names=parts.names).processes
    entity = process_entity(process)
    begun = time.monotonic()
    while True:
        found = parts.catalog.read_processes([entity.qualified_name]).get(entity.qualified_name)
        waited = time.monotonic() - begun
        if found and column in json.dumps(found.entity.attributes):
            yield good(ARRIVAL, f"the process holds the new column after {waited:.0f} s")
            return
        if waited > patience:
            yield bad("event-late", ARRIVAL, f"not there after {waited:.0f} s: {entity.qualified_name}")
            return
        time.sleep(_PAUSE)


ARRIVAL = "lineage in the catalog"
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
