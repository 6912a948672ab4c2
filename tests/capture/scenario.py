"""The scenarios: scripts, their true lineage, and the folders of their events."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.capture.needs import Needs
from tests.capture.truth import not_run
from throughline.local.toolchain.versions import LISTENER_VERSION, LISTENER_VERSIONS, SPARK_3, SPARK_4, Platform

PROJECT = Path(__file__).resolve().parents[2]
GOLDEN = PROJECT / "tests" / "golden"
LISTENERS = GOLDEN / "listeners.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A script that takes `--data FOLDER`, and its true lineage, written by hand in a file beside it."""

    name: str
    script: Path

    @property
    def truth(self) -> Path:
        """The path of the truth file."""
        return self.script.with_suffix(".truth.json")

    @property
    def needs(self) -> Needs:
        """Its further needs. Raises NeedsError."""
        return Needs.beside(self.script)


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """A version of Spark and one of the listener; `plans`: with throughline-plan.jar beside it."""

    platform: Platform = SPARK_3
    listener: str = LISTENER_VERSION
    plans: bool = False

    @property
    def name(self) -> str:
        """The capture: `spark35-ol1.53`, or `spark35-ol1.53-plan`."""
        listener = ".".join(self.listener.split(".")[:2])
        return f"spark{self.platform.short.replace('.', '')}-ol{listener}{'-plan' if self.plans else ''}"

    @property
    def placeholders(self) -> dict[str, str]:
        """The values of placeholders in version-dependent packages and properties, as in `…_{scala}:{delta}`."""
        platform = self.platform
        parts = ("scala", "delta", "iceberg", "kafka")
        return {"spark": platform.short, "pyspark": platform.spark, **{part: getattr(platform, part) for part in parts}}


WITH_PLANS = (Versions(plans=True), Versions(platform=SPARK_4, plans=True))
"""With Spark's own plans: for scenarios whose whole truth they show."""

MATRIX = (*(Versions(listener=listener_version) for listener_version in LISTENER_VERSIONS), Versions(platform=SPARK_4))
"""All versions that a Spark scenario runs on, unless its truth says `not_run`."""


@cache
def scenarios() -> Mapping[str, Scenario]:
    """Return all scenarios by name: the examples first, then those made for capturing."""
    scripts = [
        *sorted((PROJECT / "examples").glob("*.py")),
        *sorted((Path(__file__).parent / "scenarios").glob("[!_]*.py")),
    ]
    return {script.stem: Scenario(name=script.stem, script=script) for script in scripts}


def captures(scenario: Scenario) -> Iterator[str]:
    """Return all captures that a Spark scenario should have; for other scenarios, the kept ones."""
    if scenario.needs.kind == "python":
        yield from sorted(path.parent.parent.name for path in GOLDEN.glob(f"*/{scenario.name}/events.jsonl"))
    else:
        yield from (matrix_entry.name for matrix_entry in MATRIX if not_run(scenario.truth, matrix_entry.name) is None)
