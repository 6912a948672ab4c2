"""The entry point for clusters: `spark-submit --py-files throughline.whl lake_job.py --lake … SOURCE …`.

It uses the cluster's own session. docs/reference/lake.md shows each platform.
"""

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyspark.sql import SparkSession

from throughline.lake.bronze.event_files import LARGEST_EVENT
from throughline.lake.pipeline import Order, Stage, run
from throughline.lake.silver.refinement import Meaning
from throughline.lake.tables.lake import Lake, LakeError


def moment(text: str) -> datetime | None:
    """`now`, `never` (no time at all), or a time as 2026-11-21T13:00Z. Raises ValueError."""
    if text in {"now", "never"}:
        return datetime.now(UTC) if text == "now" else None
    parsed_time = datetime.fromisoformat(text)
    return parsed_time if parsed_time.tzinfo else parsed_time.replace(tzinfo=UTC)


def order_of(arguments: Sequence[str] | None = None) -> tuple[str, Order]:
    """The root of the lake, and the order of a command line."""
    parser = argparse.ArgumentParser(prog="submit.py", description="Bring the tables of lineage up to date.")
    parser.add_argument("sources", nargs="+", help="folders or URLs: the archive, events, files of JSON lines")
    parser.add_argument("--lake", required=True, help="the folder or URL of the tables")
    parser.add_argument("--tags", default="", help="a CSV file of qualified_name, column, tag")
    parser.add_argument("--as-of", type=moment, default=moment("now"), help="the time that counts as now, or never")
    parser.add_argument("--names", type=Path, help="a file of names, on the driver")
    parser.add_argument("--end-timeout-minutes", type=int, default=360)
    parser.add_argument("--quiet-minutes", type=int, default=60)
    parser.add_argument("--unseen-days", type=int, default=7)
    parser.add_argument("--largest-event", type=int, default=LARGEST_EVENT, help="bytes of an event that is taken")
    options = parser.parse_args(arguments)
    meaning = Meaning(
        as_of=options.as_of,
        end_timeout=timedelta(minutes=options.end_timeout_minutes),
        quiet=timedelta(minutes=options.quiet_minutes),
        unseen=timedelta(days=options.unseen_days),
        names=(options.names.read_text(encoding="utf-8"), str(options.names)) if options.names else None,
    )
    order = Order(sources=tuple(options.sources), meaning=meaning, tags=options.tags, largest=options.largest_event)
    return options.lake, order


def log_stage(stage: Stage) -> None:
    """One line for the driver's log."""
    counts = " ".join(f"{name}={count}" for name, count in stage.counts.items())
    sys.stdout.write(f"throughline stage={stage.name} seconds={stage.seconds:.1f} {counts}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the lake in the current session."""
    root, order = order_of(arguments)
    try:
        run(Lake.at(SparkSession.builder.getOrCreate(), root), order, note=log_stage)
    except LakeError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
