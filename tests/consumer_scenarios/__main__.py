"""`python -m tests.consumer_scenarios FOLDER`: send OpenLineage's consumer scenarios, and check the catalog's content.

FOLDER is a copy of the repository OpenLineage/compatibility-tests: a work tree, or a git directory. The expected
results are in docs/contribute/openlineage-consumer, in that repository's format.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from shared.errors import Refused
from tests.consumer_scenarios.running import consume, scenarios_in

ENTRY = Path(__file__).parents[2] / "docs/contribute/openlineage-consumer"
EXPECTED = "scenarios/{}/validation/processes.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0 when every scenario has the expected result, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.consumer_scenarios",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--write", action="store_true", help="write the expected results: review the difference")
    options = parser.parse_args(arguments)
    scenarios = scenarios_in(options.folder)
    if not scenarios:
        sys.stderr.write(f"no consumer scenarios in {options.folder}: it must be a copy of compatibility-tests\n")
        return 1
    wrong = [name for name, events in scenarios.items() if not _holds(name, events, write=options.write)]
    sys.stdout.write(f"{len(scenarios) - len(wrong)} of {len(scenarios)} scenarios have the expected result\n")
    return 1 if wrong else 0


def _holds(name: str, events: Sequence[bytes], *, write: bool) -> bool:
    try:
        state = consume(events)
    except Refused as error:
        sys.stdout.write(f"{name}: an event was refused: {error}\n")
        return False
    path = ENTRY / EXPECTED.format(name)
    if write:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(state.document, indent=2, ensure_ascii=False) + "\n")
    expected = json.loads(path.read_text()) if path.exists() else None
    holds = state.document == expected and not state.omitted
    summary = f"{len(events)} events, {len(state.runs)} runs, {len(state.processes)} processes"
    sys.stdout.write(f"{name}: {summary}: {'as expected' if holds else 'differs'}\n")
    for part in state.omitted:
        sys.stdout.write(f"  left out: {part}\n")
    return holds


if __name__ == "__main__":
    sys.exit(main())
