"""`python -m tests.capture.coverage`: write docs/reference/coverage.md, the result of every scenario on every version.

Each result is computed from the kept events: they are translated and compared with the truth of their scenario.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shared.openlineage.decoding import decode
from shared.translation.reference import translate_history
from tests.capture.beside import table
from tests.capture.scenario import GOLDEN, LISTENERS, MATRIX, PROJECT, WITH_PLANS, Scenario, captures, scenarios
from tests.capture.truth import ListenerVersion, Truth, holds, not_run

PAGE = PROJECT / "docs/reference/coverage.md"
_HEAD = """\
# Coverage

For people who ask which lineage a listener reports for which job. Real jobs ran with real listeners on development
machines, not on Synapse, Databricks or Fabric. The author of each job, called a scenario here, wrote down its true
lineage: every table and every column edge. The tables compare Throughline's result with that truth. The events are in
[tests/golden](../../tests/golden/README.md). `make coverage` writes this page, and a test compares it with the events.

- *full*: the result is exactly the truth.
- *gaps*: the result is exactly what the events report, but the events lack some facts (*not reported*) or have false
  ones (*wrong*). The cell counts them; [the gaps](#the-gaps) lists each with its reason.
- *differs*: the result is not what the events report. This is a bug of Throughline.
- *not run*: the scenario was not run with this version; the reason is below.
- *no events*: not captured yet.

A column's name gives the versions of Spark and of the listener. *-plan* means that `throughline-plan.jar` ran beside
the listener ([exact lineage](../concepts/exact-lineage.md)).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The result of one scenario in one capture."""

    capture: str
    differences: tuple[str, ...]
    missing: int
    wrong: int

    def __str__(self) -> str:
        if self.differences:
            return f"**differs ({len(self.differences)})**"
        if not (self.missing or self.wrong):
            return "full"
        counts = ((self.missing, "not reported"), (self.wrong, "wrong"))
        return "gaps: " + ", ".join(f"{count} {kind}" for count, kind in counts if count)


def examine(scenario: Scenario, capture: str) -> Cell | None:
    """Return the result of a scenario in a capture; None when no events are kept. Raises TruthError."""
    folder = GOLDEN / capture / scenario.name
    if not (folder / "events.jsonl").exists():
        return None
    history = translate_history([decode(line) for line in (folder / "events.jsonl").read_bytes().splitlines()])
    truth = Truth.read(scenario.truth, capture=capture).as_reported_by(ListenerVersion.read(LISTENERS, capture=capture))
    document = json.loads(scenario.truth.read_text())
    missing, wrong = (
        sum(holds(entry, capture) for entry in document[part]) for part in ("not_reported", "reported_wrongly")
    )
    return Cell(capture=capture, differences=tuple(truth.differences(history.processes)), missing=missing, wrong=wrong)


def page() -> str:
    """The whole page."""
    known_scenarios = scenarios().values()
    spark = [scenario for scenario in known_scenarios if scenario.needs.kind == "spark"]
    other_scenarios = [scenario for scenario in known_scenarios if scenario.needs.kind == "python"]
    lines = [_HEAD, "## Spark", "", *_matrix(spark), ""]
    if other_scenarios:
        lines += ["## Other engines", "", *_others(other_scenarios), ""]
    lines += ["## The listener alone, and with the plan", "", *table(spark), ""]
    lines += ["## What these versions do not report", "", *_listeners(), "", "## The gaps", ""]
    for scenario in known_scenarios:
        lines += gaps(scenario)
    return "\n".join(lines).rstrip() + "\n"


def _matrix(known: Iterable[Scenario]) -> Iterator[str]:
    places = [matrix_entry.name for matrix_entry in (*MATRIX, *WITH_PLANS)]
    yield f"| scenario | {' | '.join(places)} |"
    yield "|-" * (len(places) + 1) + "|"
    for scenario in known:
        yield f"| {scenario.name} | {' | '.join(_result(scenario, place) for place in places)} |"


def _result(scenario: Scenario, capture: str) -> str:
    if not_run(scenario.truth, capture) is not None:
        return "not run"
    return str(examine(scenario, capture) or "no events")


def _others(known: Iterable[Scenario]) -> Iterator[str]:
    yield "| scenario | versions | result |"
    yield "|-|-|-|"
    for scenario in known:
        for capture in list(captures(scenario)) or [""]:
            yield f"| {scenario.name} | {capture} | {_result(scenario, capture)} |"


def _listeners() -> Iterator[str]:
    for pattern, facts in json.loads(LISTENERS.read_text()).items():
        lacks = [
            kind
            for kind, lacking in (
                ("edges that concern all rows", facts["indirect"] == "none"),
                ("masks", not facts["masks"]),
                ("the SQL statement", not facts["statement"]),
            )
            if lacking
        ]
        if lacks:
            yield f"- `{pattern}` does not report {', '.join(lacks)}: {facts['reason']}."


def gaps(scenario: Scenario) -> Iterator[str]:
    """Yield the gaps of a scenario: each reason once, with its facts and captures."""
    truth: dict[str, Any] = json.loads(scenario.truth.read_text())
    golden_captures = [capture for capture in captures(scenario) if (GOLDEN / capture / scenario.name).exists()]
    reasons: dict[tuple[str, str, str], list[str]] = {}
    for part in ("not_reported", "reported_wrongly", "not_run"):
        kind = part.replace("_", " ")
        for entry in truth.get(part, ()):
            location = _where(entry, golden_captures)
            reasons.setdefault((kind, location, entry["reason"]), []).append(_what(entry))
    if not reasons:
        return
    yield f"### {scenario.name}"
    yield ""
    for (kind, location, reason), concerned in reasons.items():
        subjects = ", ".join(dict.fromkeys(subject for subject in concerned if subject))
        yield f"- *{kind}* ({location}){': ' if subjects else ''}{subjects}: {reason}"
    yield ""


def _where(entry: Mapping[str, Any], golden_captures: Sequence[str]) -> str:
    if "only" not in entry:
        return "everywhere"
    concerned = [capture for capture in golden_captures if holds(entry, capture)]
    if concerned and concerned == golden_captures:
        return "everywhere without plans"
    return ", ".join(concerned or [f"`{capture_name}`" for capture_name in entry["only"]])


def _what(entry: Mapping[str, Any]) -> str:
    """Return the fact of an entry in short form: `out/a.id ← in/b.id`."""
    if "edge" in entry:
        (source, sink) = entry["edge"]["input"], entry["edge"]["output"]
        return f"`{sink[0]}.{sink[1] or '*'} ← {source[0]}.{source[1]}`"
    if "output" not in entry:
        return ""
    output = entry["output"]
    if "operations" in entry and "inputs" not in entry:
        return f"`{output}` as {', '.join(entry['operations'])}"
    if "columns" in entry and "inputs" not in entry:
        names = ["*"] if entry["columns"] == "all" else [name or "*" for name in entry["columns"]]
        return ", ".join(f"`{output}.{name}`" for name in names)
    return f"`{output} ← {', '.join(entry.get('inputs', ['*']))}`"


def main() -> int:
    """Write the page; print and return 1 when a result differs from the report of its events."""
    argparse.ArgumentParser(
        prog="python -m tests.capture.coverage", description="Write docs/reference/coverage.md."
    ).parse_args()
    PAGE.write_text(page())
    wrong = 0
    for scenario in scenarios().values():
        for cell in filter(None, (examine(scenario, capture) for capture in captures(scenario))):
            for difference in cell.differences:
                wrong += 1
                print(f"{cell.capture}/{scenario.name}: {difference}")  # noqa: T201 - a command line's answer
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
