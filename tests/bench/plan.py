"""An event with a huge logical plan: time against `orjson.loads`, memory against the event's own size.

The OpenLineage listener sent such events before 1.9. Memory is the peak of Python's allocators while the event is read
from a file and processed, including the event itself.
"""

import gc
import json
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson

from shared.ingest.receiver import Receiver
from shared.openlineage.decoding import decode
from shared.storage.memory import MemoryStorage
from tests.bench.figures import Figure, Rounds
from tests.bench.replay import families
from tests.bench.sizes import Sizes, Steps

NAME = "plan"

_ATTRIBUTE = {
    "class": "org.apache.spark.sql.catalyst.expressions.AttributeReference",
    "num-children": 0,
    "name": "customer_id",
    "dataType": "long",
    "nullable": True,
    "metadata": {"comment": "\N{GRINNING FACE}"},
    "exprId": {
        "product-class": "org.apache.spark.sql.catalyst.expressions.ExprId",
        "id": 12,
        "jvmId": "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
    },
    "qualifier": ["spark_catalog", "default", "customers"],
}
_NODE = {
    "class": "org.apache.spark.sql.catalyst.plans.logical.Project",
    "num-children": 1,
    "projectList": [[_ATTRIBUTE]] * 10,
    "child": 0,
}
"""A node of a plan as Spark's TreeNode.toJSON writes it, with a four-byte character: it makes every character of the
Python text take four bytes.
"""

_MOST_BYTES = 1 << 30


def _receive(raw: bytes) -> object:
    return Receiver(storage=MemoryStorage(), max_body_bytes=_MOST_BYTES).receive(raw)


_WORKS: Mapping[str, Callable[[bytes], object]] = {"decode": decode, "receive": _receive, "orjson.loads": orjson.loads}


def measure(sizes: Sizes, steps: Steps) -> list[Figure]:
    """Measure CPU time and peak memory of the event as it is, and with an invalid data set beside the plan."""
    events = {"a plan": with_plan(sizes.plan_bytes), "a plan, a bad input": with_plan(sizes.plan_bytes, bad=True)}
    steps.begin("an enormous plan", sizes.plan_rounds * len(events) + len(events) * len(_WORKS))
    return [
        *(_time(name, raw, sizes, steps) for name, raw in events.items()),
        *(figure for name, raw in events.items() for figure in _memory(name, raw, steps)),
    ]


def with_plan(size: int, *, bad: bool = False) -> bytes:
    """Return the largest captured event that is no wide table, with a plan of about `size` bytes.

    `bad` adds an invalid data set.
    """
    event: dict[str, Any] = json.loads(_ordinary())
    node = _json(_NODE)
    event["run"]["facets"]["spark.logicalPlan"] = {"plan": [_NODE] * max(1, size // len(node))}
    if bad:
        event["inputs"].append(7)
    return _json(event)


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _ordinary() -> bytes:
    longest = 10_000
    return max((raw for family in families() for raw in family.events if len(raw) < longest), key=len)


def _time(name: str, raw: bytes, sizes: Sizes, steps: Steps) -> Figure:
    our_times, other_times = [], []
    for _ in range(sizes.plan_rounds):
        other_times.append(_seconds(orjson.loads, raw))
        our_times.append(_seconds(decode, raw))
        steps.done()
    return Rounds(ours=our_times, others=other_times).figure(
        benchmark=NAME,
        name=name,
        scale=1000,
        unit="ms CPU",
        compared_with="orjson.loads of the same bytes",
        goal="<= 1",
        sizes={"bytes": len(raw), "rounds": sizes.plan_rounds},
    )


def _seconds(work: Callable[[bytes], object], raw: bytes) -> float:
    gc.collect()
    start = time.process_time()
    work(raw)
    return time.process_time() - start


def _memory(name: str, raw: bytes, steps: Steps) -> list[Figure]:
    """Measure the memory of `decode`, and of the receiver with storage in memory, which also holds the packed event."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(raw)
        file.flush()
        peaks = {}
        for title, work in _WORKS.items():
            peaks[title] = _peak(work, Path(file.name))
            steps.done()
    return [
        Rounds(ours=[peaks[title]], others=[len(raw)]).figure(
            benchmark=NAME,
            name=f"{title}, {name}",
            scale=1e-6,
            unit="MB",
            compared_with="the event's own size",
            goal="<= 3",
            details={"orjson_loads_mb": round(peaks["orjson.loads"] / 1e6, 1)},
        )
        for title in ("decode", "receive")
    ]


def _peak(work: Callable[[bytes], object], path: Path) -> int:
    """Return the peak memory in bytes of reading and processing the event, including the event."""
    work(_ordinary())
    gc.collect()
    tracemalloc.start()
    work(path.read_bytes())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak
