"""The runtimes of each platform, with the listener's jar that fits: one table of facts.

`throughline config` reads it, and docs/get-started/{synapse,databricks,fabric}.md show it (`make runtimes`). A runtime
is entered from its vendor's page, which stands in `source`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from shared.errors import ThroughlineError
from throughline.local.toolchain.versions import PLATFORMS as SPARKS
from throughline.local.toolchain.versions import SPARK_3


class Proof(StrEnum):
    """How we know that the listener works there; nothing here was run on a platform of Azure."""

    HERE = "this Spark and Scala run in our tests"
    NEAR = "our tests run the same Spark line and Scala"
    UPSTREAM = "the listener's own tests run on it"
    UNPROVEN = "unproven"


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """One row. `spark` and `scala` are what the runtime brings, `ends` is the last day of support (None: its vendor
    names no day), `source` the page that says so; `note` is a sentence on what to know.
    """

    platform: str
    name: str
    spark: str
    scala: str
    ends: date | None
    proof: Proof
    source: str
    note: str = ""
    is_default: bool = False

    def jar(self, listener: str) -> str:
        """The file of the listener of this version."""
        return f"openlineage-spark_{self.scala}-{listener}.jar"

    def is_over(self, today: date) -> bool:
        """Whether its support has ended."""
        return self.ends is not None and self.ends < today


class PlatformError(ThroughlineError):
    """The wanted configuration can't work; the message says what to change."""


_NO_COLUMNS = "OpenLineage issue 4011 reports that column lineage is missing here."
# The rows of each platform: runtime, its Spark and Scala, the last day of support, the proof, a note.
_SYNAPSE = (
    ("3.5", "3.5", "2.12", date(2028, 10, 31), Proof.HERE, ""),
    ("3.4", "3.4.1", "2.12", date(2026, 3, 31), Proof.UNPROVEN, "Synapse disables its jobs in steps: use 3.5."),
)
_DATABRICKS = (
    ("18", "4.1.0", "2.13", date(2029, 6, 10), Proof.UNPROVEN, ""),
    ("17.3", "4.0.0", "2.13", date(2028, 10, 22), Proof.UNPROVEN, ""),
    ("16.4-scala2.13", "3.5.2", "2.13", date(2028, 5, 9), Proof.UNPROVEN, _NO_COLUMNS),
    ("16.4", "3.5.2", "2.12", date(2028, 5, 9), Proof.UPSTREAM, _NO_COLUMNS),
    ("15.4", "3.5.0", "2.12", date(2027, 8, 19), Proof.NEAR, ""),
    ("14.3", "3.5.0", "2.12", date(2027, 2, 1), Proof.NEAR, ""),
    ("13.3", "3.4.1", "2.12", date(2026, 8, 22), Proof.UPSTREAM, ""),
)
_FABRIC = (
    ("2.0", "4.1.1", "2.13", None, Proof.NEAR, ""),
    ("1.3", "3.5.5", "2.12", date(2027, 3, 31), Proof.NEAR, "Long-term support since 2026-10-01, for six months."),
)
_LOCAL = tuple((spark.short, spark.spark, spark.scala, None, Proof.HERE, "") for spark in SPARKS.values())


def _runtimes(
    platform: str, default: str, source: str, rows: Iterable[tuple[str, str, str, date | None, Proof, str]]
) -> Iterator[Runtime]:
    for name, spark, scala, ends, proof, note in rows:
        yield Runtime(
            platform=platform,
            name=name,
            spark=spark,
            scala=scala,
            ends=ends,
            proof=proof,
            source=source.format(name.replace(".", "")),
            note=note,
            is_default=name == default,
        )


RUNTIMES: tuple[Runtime, ...] = (
    *_runtimes(
        "synapse", "3.5", "https://learn.microsoft.com/azure/synapse-analytics/spark/apache-spark-{}-runtime", _SYNAPSE
    ),
    *_runtimes("databricks", "15.4", "https://docs.databricks.com/release-notes/runtime.html", _DATABRICKS),
    *_runtimes("fabric", "2.0", "https://learn.microsoft.com/fabric/data-engineering/lifecycle", _FABRIC),
    *_runtimes("local", SPARK_3.short, "throughline/local/toolchain/versions.py", _LOCAL),
)
"""All that are known, the newest of each platform first."""


def runtimes_of(platform: str) -> tuple[Runtime, ...]:
    """The runtimes of a platform, under any of its names in `throughline config`."""
    family = platform.partition("-")[0]
    return tuple(runtime for runtime in RUNTIMES if runtime.platform == family)


def runtime_of(platform: str, name: str = "") -> Runtime:
    """The runtime of this name, the platform's default without one. Raises PlatformError."""
    known_runtimes = runtimes_of(platform)
    for candidate in known_runtimes:
        if candidate.name == name or (not name and candidate.is_default):
            return candidate
    names = ", ".join(runtime.name for runtime in known_runtimes)
    raise PlatformError(f"{platform} has no runtime {name!r} that is known here: choose one of {names}")
