"""The runtimes of each platform, with the listener's jar that fits: one table of facts.

`throughline config` reads it, and the tables of docs/get-started/{synapse,databricks,fabric}.md are made from it
(`make runtimes`); a test holds the pages to it. A runtime is entered from its vendor's page, which stands in `source`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from local.toolchain.versions import PLATFORMS as SPARKS


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


class UnknownRuntimeError(ValueError):
    """There is no such runtime; the message names those that there are."""


_DATABRICKS = "https://docs.databricks.com/release-notes/runtime.html"
_SYNAPSE = "https://learn.microsoft.com/azure/synapse-analytics/spark/apache-spark-{}-runtime"
_FABRIC = "https://learn.microsoft.com/fabric/data-engineering/lifecycle"
_NO_COLUMNS = "OpenLineage issue 4011 reports that column lineage is missing here."

RUNTIMES: tuple[Runtime, ...] = (
    Runtime(
        platform="synapse",
        name="3.5",
        spark="3.5",
        scala="2.12",
        ends=date(2028, 10, 31),
        proof=Proof.HERE,
        source=_SYNAPSE.format(35),
        is_default=True,
    ),
    Runtime(
        platform="synapse",
        name="3.4",
        spark="3.4.1",
        scala="2.12",
        ends=date(2026, 3, 31),
        proof=Proof.UNPROVEN,
        source=_SYNAPSE.format(34),
        note="Synapse turns its jobs off in steps: move the pool to 3.5.",
    ),
    Runtime(
        platform="databricks",
        name="18",
        spark="4.1.0",
        scala="2.13",
        ends=date(2029, 6, 10),
        proof=Proof.UNPROVEN,
        source=_DATABRICKS,
    ),
    Runtime(
        platform="databricks",
        name="17.3",
        spark="4.0.0",
        scala="2.13",
        ends=date(2028, 10, 22),
        proof=Proof.UNPROVEN,
        source=_DATABRICKS,
    ),
    Runtime(
        platform="databricks",
        name="16.4-scala2.13",
        spark="3.5.2",
        scala="2.13",
        ends=date(2028, 5, 9),
        proof=Proof.UNPROVEN,
        source=_DATABRICKS,
        note=_NO_COLUMNS,
    ),
    Runtime(
        platform="databricks",
        name="16.4",
        spark="3.5.2",
        scala="2.12",
        ends=date(2028, 5, 9),
        proof=Proof.UPSTREAM,
        source=_DATABRICKS,
        note=_NO_COLUMNS,
    ),
    Runtime(
        platform="databricks",
        name="15.4",
        spark="3.5.0",
        scala="2.12",
        ends=date(2027, 8, 19),
        proof=Proof.NEAR,
        source=_DATABRICKS,
        is_default=True,
    ),
    Runtime(
        platform="databricks",
        name="14.3",
        spark="3.5.0",
        scala="2.12",
        ends=date(2027, 2, 1),
        proof=Proof.NEAR,
        source=_DATABRICKS,
    ),
    Runtime(
        platform="databricks",
        name="13.3",
        spark="3.4.1",
        scala="2.12",
        ends=date(2026, 8, 22),
        proof=Proof.UPSTREAM,
        source=_DATABRICKS,
    ),
    Runtime(
        platform="fabric",
        name="2.0",
        spark="4.1.1",
        scala="2.13",
        ends=None,
        proof=Proof.NEAR,
        source=_FABRIC,
        is_default=True,
    ),
    Runtime(
        platform="fabric",
        name="1.3",
        spark="3.5.5",
        scala="2.12",
        ends=date(2027, 3, 31),
        proof=Proof.NEAR,
        source=_FABRIC,
        note="Long-term support since 2026-10-01, for six months.",
    ),
    *(
        Runtime(
            platform="local",
            name=spark.short,
            spark=spark.spark,
            scala=spark.scala,
            ends=None,
            proof=Proof.HERE,
            source="local/toolchain/versions.py",
            is_default=spark.major == "3",
        )
        for spark in SPARKS.values()
    ),
)
"""All that are known, the newest of each platform first."""


def runtimes_of(platform: str) -> tuple[Runtime, ...]:
    """The runtimes of a platform, under any of its names in `throughline config`."""
    family = platform.partition("-")[0]
    return tuple(each for each in RUNTIMES if each.platform == family)


def runtime_of(platform: str, name: str = "") -> Runtime:
    """The runtime of this name, the platform's default without one. Raises UnknownRuntimeError."""
    known = runtimes_of(platform)
    for each in known:
        if each.name == name or (not name and each.is_default):
            return each
    names = ", ".join(each.name for each in known)
    raise UnknownRuntimeError(f"{platform} has no runtime {name!r} that is known here: choose one of {names}")


def table(platform: str) -> Iterator[str]:
    """The table of a platform's page, line by line."""
    yield "| `--runtime` | Spark | Scala, and so the jar's | supported until | the listener there |"
    yield "|---|---|---|---|---|"
    for each in runtimes_of(platform):
        name = f"`{each.name}`" + (" (default)" if each.is_default else "")
        ends = f"[{each.ends or 'no day named'}]({each.source})"
        yield f"| {name} | {each.spark} | {each.scala} | {ends} | {f'{each.proof}. {each.note}'.strip()} |"
