"""Gold, `completeness` and its trend: how completely the catalog documents the data sets of the current lineage.

The lake has no catalog: what the catalog holds comes from the caller.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from pyspark.sql import functions as f

from shared.completeness import DEFAULT_RULES, CatalogDocumentation, ScoreRules, lacking, score
from throughline.lake.gold.current_lineage import linked_assets
from throughline.lake.tables.declaration import Table
from throughline.lake.tables.encoding import moment, unpack_process
from throughline.lake.tables.lake import Lake
from throughline.lake.tables.schemas import COMPLETENESS, COMPLETENESS_TREND, CONTRIBUTIONS, COVERAGE, CURRENT, TAGS

AssetKey = tuple[str, str]
"""Type and qualified name."""

MAX_SHOWN_MEASUREMENTS = 10
MAX_SHOWN_DATASETS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedDataset:
    """A data set of the current lineage: how many processes read it, and when a run last wrote it, if any did.
    `described` and `tagged`: events declare a description, or a tag; or it has a row in TAGS. `columns` are those of a
    written data set, `traced` those of them with a known source.
    """

    type: str
    qualified_name: str
    readers: int
    written: datetime | None
    described: bool
    tagged: bool
    columns: int
    traced: int

    @property
    def key(self) -> AssetKey:
        """Its identity in the catalog."""
        return self.type, self.qualified_name


def linked_datasets(lake: Lake) -> tuple[LinkedDataset, ...]:
    """The data sets of the current lineage, by name. Raises LakeError where there is no lake."""
    lake.require(CURRENT)
    reader = f.when(~f.col("written"), f.col("process"))
    rows = (
        linked_assets(lake)
        .groupBy("qualified_name")
        .agg(f.min("type").alias("type"), f.count_distinct(reader).alias("readers"))
    )
    written_rows = (
        lake.live(CONTRIBUTIONS)
        .select(f.explode("outputs.qualified_name").alias("qualified_name"), "last")
        .groupBy("qualified_name")
        .agg(f.unix_micros(f.max("last")).alias("written"))
    )
    traced = (
        lake.read(COVERAGE).where("level = 'asset'").select(f.col("name").alias("qualified_name"), "columns", "traced")
    )
    tagged = lake.read(TAGS).select("qualified_name").distinct().withColumn("tagged", f.lit(True))
    described, declared_tags = _declared(lake)
    for part in (written_rows, traced, tagged):
        rows = rows.join(part, "qualified_name", "left")
    return tuple(
        LinkedDataset(
            type=row["type"],
            qualified_name=row["qualified_name"],
            readers=row["readers"],
            written=None if row["written"] is None else moment(row["written"]),
            described=row["qualified_name"] in described,
            tagged=bool(row["tagged"]) or row["qualified_name"] in declared_tags,
            columns=row["columns"] or 0,
            traced=row["traced"] or 0,
        )
        for row in rows.orderBy("qualified_name").toLocalIterator()
    )


def _declared(lake: Lake) -> tuple[frozenset[str], frozenset[str]]:
    """The data sets (qualified names) of which events declare a description, and those with tags."""
    described, tagged = set[str](), set[str]()
    for row in lake.live(CURRENT).select("content").toLocalIterator():
        for schema in unpack_process(row["content"]).schemas if row["content"] else ():
            if schema.declared.description:
                described.add(schema.qualified_name)
            if schema.declared.tags:
                tagged.add(schema.qualified_name)
    return frozenset(described), frozenset(tagged)


def write_completeness(
    lake: Lake,
    datasets: tuple[LinkedDataset, ...],
    catalog_documentations: Mapping[AssetKey, CatalogDocumentation],
    *,
    measured_at: datetime,
    rules: ScoreRules = DEFAULT_RULES,
) -> None:
    """Write the scores of these data sets, and a row of the trend. `catalog_documentations`: what the catalog holds of
    those that it has. `measured_at`: when that was read; aware.
    """
    rows = [
        _row(dataset, catalog_documentations.get(dataset.key), measured_at=measured_at, rules=rules)
        for dataset in datasets
    ]
    _put(lake, COMPLETENESS, rows, replaces_all=True)
    _put(lake, COMPLETENESS_TREND, [_whole(rows, datasets, measured_at)], replaces_all=False)


def trend(lake: Lake, *, limit: int = MAX_SHOWN_MEASUREMENTS) -> list[dict[str, Any]]:
    """The last measurements, the oldest of them first."""
    rows = lake.read(COMPLETENESS_TREND).withColumn("at", f.unix_micros("at")).orderBy(f.desc("at")).limit(limit)
    return [{**row.asDict(), "at": moment(row["at"])} for row in reversed(rows.collect())]


def most_gain(lake: Lake, *, limit: int = MAX_SHOWN_DATASETS) -> list[dict[str, Any]]:
    """The data sets whose documentation would raise the score in all most: those with the lowest score, of equal ones
    those that more processes read.
    """
    rows = lake.read(COMPLETENESS).where("score < 1")
    return [row.asDict() for row in rows.orderBy("score", f.desc("readers"), "qualified_name").limit(limit).collect()]


def _row(
    dataset: LinkedDataset, documented: CatalogDocumentation | None, *, measured_at: datetime, rules: ScoreRules
) -> dict[str, Any]:
    catalog_documentation = documented or CatalogDocumentation()
    documentation = replace(
        catalog_documentation,
        described=catalog_documentation.described or (catalog_documentation.placed and dataset.described),
        tagged=catalog_documentation.tagged or dataset.tagged,
    )
    return {
        **asdict(documentation),
        "qualified_name": dataset.qualified_name,
        "type": dataset.type,
        "held": documented is not None,
        "score": score(documentation, rules),
        "lacks": [str(part) for part in lacking(documentation, rules)],
        "traced": dataset.traced / dataset.columns if dataset.columns else None,
        "fresh": None if dataset.written is None else measured_at - dataset.written <= rules.fresh_within,
        "readers": dataset.readers,
    }


def _whole(rows: list[dict[str, Any]], datasets: tuple[LinkedDataset, ...], measured_at: datetime) -> dict[str, Any]:
    """The row of the trend for these rows."""
    freshness = [row["fresh"] for row in rows if row["fresh"] is not None]
    columns = sum(dataset.columns for dataset in datasets)
    flags = {name: sum(row[name] for row in rows) for name in ("held", "described", "owned", "tagged")}
    return {
        "at": measured_at,
        "assets": len(rows),
        **flags,
        "with_columns": sum(row["columns"] > 0 for row in rows),
        "columns": sum(row["columns"] for row in rows),
        "described_columns": sum(row["described_columns"] for row in rows),
        "score": sum(row["score"] for row in rows) / len(rows) if rows else 0.0,
        "traced": sum(dataset.traced for dataset in datasets) / columns if columns else None,
        "fresh": sum(freshness) / len(freshness) if freshness else None,
    }


def _put(lake: Lake, table: Table, rows: list[dict[str, Any]], *, replaces_all: bool) -> None:
    values = [tuple(row[name] for name in table.names) for row in rows]
    lake.put(table, lake.session.createDataFrame(values, table.struct()), batch=0, is_complete=replaces_all)
