"""Rules on the estate of `python -m tests.synth --datasets`: classify, check and search against their goals."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from shared.governance.checks.checking import check
from shared.governance.checks.findings import Facts
from shared.governance.propagation import propagate
from shared.governance.rules_file import parse_rules
from shared.lineage.building import KnownProcess, document_of
from shared.lineage.search_index import SearchIndex
from shared.openlineage.decoding import decode
from shared.translation.reference import translate_history
from tests.bench.figures import Figure
from tests.bench.sizes import Sizes, Steps
from tests.synth.estate import events

NAME = "govern"
_RULES = """
[[tag]]
classification = "PII"
columns = ["customer_name*", "email*"]

[[tag]]
classification = "Finance"
columns = ["amount*", "price*"]

[[mask]]
columns = "*_key_*"
author = "bench"
reason = "some columns stop values"
expires = 2099-01-01

[[policy]]
name = "no personal data in one zone"
datasets = "*zone3/*"
no_tag = "PII"
no_failed_upstream = true
traced = 95

[[policy]]
name = "one source"
datasets = "*zone5/*"
sources_only = ["*acct1*"]
masked_by = "*"
"""
_SEARCHES = ("customer", "table_09 amount", "zone3 email_id_4", "nothing like this")
_ROUNDS = 3


def measure(sizes: Sizes, steps: Steps) -> list[Figure]:
    """Measure each; the fastest of three rounds counts."""
    steps.begin("rules: the estate", 4)
    history = translate_history([decode(msgspec.json.encode(event)) for event in events(sizes.view_datasets)])
    document = document_of("record", [KnownProcess(process=process) for process in history.processes])
    rules = parse_rules(_RULES, "rules.toml")
    now = datetime.now(UTC)
    steps.done()
    classified = _seconds(lambda: propagate(document, rules, today=now.date()))
    steps.done()
    checked = _seconds(lambda: check(document, rules, Facts(now=now)))
    steps.done()
    searched = _seconds(lambda: [SearchIndex(document).find(text) for text in _SEARCHES])
    steps.done()
    counts = {"columns": len(document.columns), "edges": len(document.edges)}
    rows = (
        ("classify: two", classified, 5),
        ("check: five demands", checked, 3),
        ("search: four texts", searched, 1),
    )
    return [
        Figure(
            benchmark=NAME,
            name=name,
            value=value,
            unit="s",
            compared_with="its goal",
            other=goal,
            ratio=value / goal,
            goal="<= 1",
            sizes=counts,
        )
        for name, value, goal in rows
    ]


def _seconds(act: Callable[[], object]) -> float:
    times = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        act()
        times.append(time.perf_counter() - began)
    return min(times)
