"""A START and a COMPLETE of a job that does not exist, posted as a listener posts them, and followed to the catalog."""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import requests

from shared.atlas import process_entity
from shared.bootstrap import Worker
from shared.openlineage import decode
from shared.translation import translate_history

NAMESPACE = "throughline-doctor"
_STORE = "abfss://doctor@throughlinedoctor.dfs.core.windows.net"
_JOB = "throughline_doctor.execute_insert_into_hadoop_fs_relation_command.target"
_TIMEOUT = 30
_PAUSE = 0.5
_SLOW = 5.0
"""Seconds after which a listener that was not told otherwise gives up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that was looked at: whether it is `good`, what was `found`, and what to do if it is not."""

    name: str
    good: bool
    found: str
    advice: str = ""


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


def follow(parts: Worker, *, url: str, key: str, patience: float) -> Iterator[Step]:
    """Post, and look for what comes of it for `patience` seconds: a step at a time, none after one that is not good.

    Raises StorageUnavailable, CatalogUnavailable and CatalogRefused.
    """
    now = datetime.now(UTC)
    column = f"seen_{now:%Y%m%d_%H%M%S}_{uuid4().hex[:6]}"
    both = events(now, column)
    for raw, kind in zip(both, ("START", "COMPLETE"), strict=True):
        step = _post(url, key, raw, kind)
        yield step
        if not step.good:
            return
    (process,) = translate_history([decode(raw) for raw in both], names=parts.names).processes
    entity = process_entity(process)
    begun = time.monotonic()
    while True:
        found = parts.catalog.read_process(entity.type, entity.qualified_name)
        waited = time.monotonic() - begun
        if found and column in json.dumps(found.attributes):
            yield Step(name="catalog", good=True, found=f"the process holds the new column after {waited:.0f} s")
            return
        if waited > patience:
            found_not = f"not there after {waited:.0f} s: {entity.qualified_name}"
            yield Step(name="catalog", good=False, found=found_not, advice=_WAITING)
            return
        time.sleep(_PAUSE)


_WAITING = (
    "throughline status says what it waits for: `the parser` (does its app run, is it told of blobs?) or `the catalog` "
    "(its last error stands below the counts)"
)
_UNREACHABLE = "does anything listen there? can this machine reach it?"
_TOO_SLOW = "a listener waits 5 s unless told otherwise: keep the receiver warm (docs/azure.md, Which plan)"
_ELSE = "see the receiver's log"
_ADVICE: Mapping[int, str] = {
    401: "that is none of the receiver's keys: make one (docs/azure.md, step 5), give it by --key or THROUGHLINE_KEY",
    403: "a firewall or access restriction of the app keeps this machine out",
    404: "no receiver is there: is the package deployed (python3 -m cli.deploy), is --url without a path?",
    503: "its storage is away: look at the receiver's log, at its roles (infra/roles.json) and the account's network",
}


def _post(url: str, key: str, raw: bytes, kind: str) -> Step:
    headers = {"Content-Type": "application/json; charset=UTF-8", **({"x-functions-key": key} if key else {})}
    begun = time.monotonic()
    try:
        answer = requests.post(
            f"{url.rstrip('/')}/api/v1/lineage", data=raw, headers=headers, timeout=_TIMEOUT, allow_redirects=False
        )
    except requests.RequestException as error:
        return Step(name=kind, good=False, found=f"no answer ({type(error).__name__}) at {url}", advice=_UNREACHABLE)
    took = time.monotonic() - begun
    if answer.status_code != 201:  # noqa: PLR2004 - HTTP's own number
        advice = _ADVICE.get(answer.status_code, _ELSE)
        return Step(name=kind, good=False, found=f"{answer.status_code} {answer.text[:200]}", advice=advice)
    late = took >= _SLOW
    return Step(name=kind, good=not late, found=f"201 after {took * 1000:.0f} ms", advice=_TOO_SLOW if late else "")
