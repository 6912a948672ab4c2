"""Real plans, damaged anywhere: each is read, or refused as unreadable, without any other error."""

import base64
import gzip
import json
import random
from copy import deepcopy
from functools import cache
from typing import Any

import pytest

from shared.openlineage.run_facets import PlanFacet
from shared.plans.nodes.document import UnreadablePlan
from shared.plans.reader import read_plan
from tests.support.golden import GOLDEN
from tests.support.plans import facet

SEEDS = 600
VALUES: tuple[Any, ...] = (
    None,
    0,
    -1,
    10**12,
    "x",
    "",
    [],
    {},
    [[]],
    {"ref": 0},
    {"ref": 10**6},
    {"ref": "x"},
    {"k": 7},
    True,
)


@cache
def _documents() -> list[str]:
    plan_texts = []
    for path in sorted(GOLDEN.glob("spark35-ol1.53-plan/*/events.jsonl")):
        for line in path.read_bytes().splitlines():
            plan = json.loads(line)["run"].get("facets", {}).get("throughline_plan", {}).get("plan")
            if plan:
                plan_texts.append(gzip.decompress(base64.b64decode(plan)).decode())
    return plan_texts


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Each place in a document: its container and its key."""
    places: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        node = waiting.pop()
        keys = node.keys() if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        for key in keys:
            places.append((node, key))
            waiting.append(node[key])
    return places


def _damaged(seed: int) -> PlanFacet:
    chance = random.Random(seed)
    document = json.loads(chance.choice(_documents()))
    for _ in range(chance.randint(1, 3)):
        container, key = chance.choice(_places(document))
        if chance.random() < 0.3 and isinstance(container, dict):
            del container[key]
        else:
            container[key] = deepcopy(chance.choice(VALUES))  # the next damage may be in it
    return facet(document)


@pytest.mark.parametrize("start", range(0, SEEDS, 100))
def test_a_damaged_plan_is_read_or_refused_as_unreadable(start: int) -> None:
    read_count = 0
    for seed in range(start, start + 100):
        try:
            read_plan(_damaged(seed))
            read_count += 1
        except UnreadablePlan:
            continue
    assert read_count > 0, "some damage does no harm"
