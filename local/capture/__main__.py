"""`python -m local.capture [SCENARIO…] [--listener VERSION]…`: capture golden events; all scenarios unless named."""

import argparse
import sys

from local.capture.cloud import NoCompilerError
from local.capture.runner import GOLDEN, CaptureError, capture, scenarios
from local.capture.scrub import LeakError
from local.java import NoJavaError, find_java
from local.spark import LISTENER_VERSION


def main() -> int:
    """Capture what was asked for; 1 when something went wrong, which is said in one sentence."""
    known = scenarios()
    parser = argparse.ArgumentParser(
        prog="python -m local.capture", description="Capture golden events from real Spark."
    )
    parser.add_argument("scenario", nargs="*", help=f"of {', '.join(known)}; all unless named")
    parser.add_argument(
        "--listener", action="append", help=f"version of openlineage-spark (default {LISTENER_VERSION})"
    )
    options = parser.parse_args()
    if unknown := set(options.scenario) - set(known):
        parser.error(f"no scenario {', '.join(sorted(unknown))}: there are {', '.join(known)}")
    try:
        java = find_java()
        for listener in options.listener or [LISTENER_VERSION]:
            for name in options.scenario or known:
                kept = capture(known[name], listener=listener, java=java)
                count = len((kept / "events.jsonl").read_text().splitlines())
                print(f"{count:4} events of {name} in {kept.relative_to(GOLDEN)}")  # noqa: T201 - CLI
    except (CaptureError, LeakError, NoCompilerError, NoJavaError) as error:
        print(error, file=sys.stderr)  # noqa: T201 - CLI
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
