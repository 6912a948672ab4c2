"""Gold, `impact` and `tags`: what depends on a column, and where a tagged one went."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from shared.model import OPAQUE
from throughline.lake.engine.arrow import schema_of
from throughline.lake.gold.column_index import Columns, Names, Nodes
from throughline.lake.gold.graph import Closure, Graph, Ints
from throughline.lake.tables.declaration import struct
from throughline.lake.tables.lake import Lake
from throughline.lake.tables.schemas import CURRENT, IMPACT, TAGS

DEEPEST = 32
"""The number of steps that are followed: a longer chain of tables is cut there."""

_TOGETHER = 500
"""Columns whose closures one worker computes at once."""

_DIRECT = "DIRECT"


def column_edges(lake: Lake) -> DataFrame:
    """The edges of the current lineage."""
    rows = lake.live(CURRENT).select("process", f.explode("columns").alias("e"))
    return rows.select(
        "e.input",
        "e.input_column",
        "e.output",
        "e.output_column",
        (f.col("e.kind") == _DIRECT).alias("direct"),
        "e.masked",
        f.coalesce(f.array_contains("e.how", OPAQUE), f.lit(False)).alias("opaque"),
        "process",
    )


def columns_of(edges: DataFrame) -> Columns:
    """The same in this process's memory."""
    edges.sparkSession.conf.set("spark.sql.execution.arrow.pyspark.enabled", "true")
    return Columns.of(edges.orderBy("input", "input_column", "output", "output_column", "process").toPandas())


def write_impact(lake: Lake, *, batch: int) -> int:
    """Recompute `impact` from the current lineage. Returns how many rows changed."""
    return lake.put(IMPACT, impact(lake, columns_of(column_edges(lake))), batch=batch, is_complete=True)


def impact(lake: Lake, known_columns: Columns) -> DataFrame:
    """Rows of `impact`: the closure of each column, many columns at a time in each worker, which also names them: to
    join names to the pairs took several times as long as to find these.
    """
    session = lake.session
    held_closures = Closures.of(known_columns)
    starts = len(np.unique(known_columns.start))
    chunks = [(number,) for number in range((starts + _TOGETHER - 1) // _TOGETHER)]
    parts = max(1, min(len(chunks), lake.engine.cores * 4))
    chunk_rows = session.createDataFrame(chunks, "chunk int").repartition(parts)
    schema = schema_of(_ROWS)

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sources = np.unique(held_closures.whole.starts)
        for chunk in (chunk for batch in batches for chunk in batch.column(0).to_pylist()):
            chunk_sources = sources[chunk * _TOGETHER : (chunk + 1) * _TOGETHER]
            yield from held_closures.rows(chunk_sources, schema)

    return chunk_rows.mapInArrow(work, _ROWS)


_ROWS = struct(IMPACT.content)

_MOST_ROWS = 100_000
"""Of one batch that goes to Spark."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Closures:
    """What a worker needs of the columns; `direct` is None where all edges are, `exact` (direct and not opaque) where
    no edge is opaque.
    """

    nodes: Nodes
    whole: Graph
    direct: Graph | None
    exact: Graph | None
    process: Ints
    processes: Names

    @classmethod
    def of(cls, lineage_columns: Columns) -> "Closures":
        """Of all columns."""
        return cls(
            nodes=lineage_columns.nodes,
            whole=lineage_columns.graph,
            direct=None if lineage_columns.direct_graph is lineage_columns.graph else lineage_columns.direct_graph,
            exact=lineage_columns.graph_of(lineage_columns.direct & ~lineage_columns.opaque)
            if lineage_columns.opaque.any()
            else None,
            process=lineage_columns.process[lineage_columns.graph.order],
            processes=lineage_columns.processes,
        )

    def rows(self, sources: Ints, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Rows of `impact` for these columns."""
        closure = self.whole.closure(sources, depth=DEEPEST)
        direct = self._reached_by(self.direct, closure, sources)
        opaque = direct & ~self._reached_by(self.exact, closure, sources)
        for begin in range(0, len(closure.source), _MOST_ROWS):
            part = slice(begin, begin + _MOST_ROWS)
            edge = closure.edge[part]
            former_nodes = self.whole.starts[edge]
            processes = pa.array(self.processes, type=pa.string())
            columns = {
                "source": self.nodes.asset_of(closure.source[part]),
                "source_column": self.nodes.column_of(closure.source[part]),
                "target": self.nodes.asset_of(closure.target[part]),
                "target_column": self.nodes.column_of(closure.target[part]),
                "before": self.nodes.asset_of(former_nodes),
                "before_column": self.nodes.column_of(former_nodes),
                "depth": pa.array(closure.depth[part].astype(np.int32)),
                "paths": pa.array(closure.paths[part]),
                "direct": pa.array(direct[part]),
                "opaque": pa.array(opaque[part]),
                "process": processes.take(pa.array(self.process[edge])),
            }
            yield pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)

    def _reached_by(self, graph: Graph | None, closure: Closure, sources: Ints) -> npt.NDArray[np.bool_]:
        """Which of the found pairs a graph of some edges has; None stands for all edges."""
        if graph is None:
            return np.ones(len(closure.source), dtype=bool)
        size, partial_closure = self.whole.size, graph.closure(sources, depth=DEEPEST)
        return np.isin(closure.source * size + closure.target, partial_closure.source * size + partial_closure.target)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependent:
    """A column that depends on another, and the process of the last step of one shortest path to it. `direct`: by the
    value itself; `opaque`: which may arrive there or not.
    """

    asset: str
    column: str
    depth: int
    direct: bool
    opaque: bool
    process: str


def downstream(lake: Lake, asset: str, column: str) -> list[Dependent]:
    """All columns that depend on one column, nearest first: its rows of `impact`."""
    reached = lake.read(IMPACT).where((f.col("source") == asset) & (f.col("source_column") == column))
    target = (f.col("target").alias("asset"), f.col("target_column").alias("column"))
    rows = reached.select(*target, "depth", "direct", "opaque", "process").orderBy("depth", "asset", "column")
    return [Dependent(**row.asDict()) for row in rows.collect()]


def write_tags(lake: Lake, tags: DataFrame, *, batch: int) -> int:
    """Spread tags (`qualified_name`, `column`, `tag`) along direct columns, ending at masks. Returns how many rows
    changed.
    """
    lake.session.conf.set("spark.sql.execution.arrow.pyspark.enabled", "true")
    seeds = tags.select("qualified_name", "column", "tag").distinct().toPandas()
    spread_tags = spread(columns_of(column_edges(lake)), seeds)
    return lake.put(TAGS, lake.session.createDataFrame(spread_tags, _TAGS), batch=batch, is_complete=True)


_TAGS = struct(TAGS.content)


def spread(lineage_columns: Columns, seeds: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Where tagged columns went, each with the nearest place where its tag was set: rows of `tags`. Where opaque edges
    lead it is not known to have gone. A tag without a column is of the data set.
    """
    nodes, graph = (
        lineage_columns.nodes,
        lineage_columns.graph_of(lineage_columns.direct & ~lineage_columns.masked & ~lineage_columns.opaque),
    )
    best: dict[tuple[str, str, str], tuple[int, str, str]] = {}
    for asset, column, tag in seeds.fillna("").itertuples(index=False):
        best[asset, column, tag] = (0, asset, column)
        number = nodes.find(asset, column)
        if number is None:
            continue
        closure = graph.closure(np.array([number], dtype=np.int64), depth=DEEPEST)
        for target, depth in zip(closure.target.tolist(), closure.depth.tolist(), strict=True):
            key = (*nodes.name_of(target), tag)
            value = (depth, asset, column)
            best[key] = min(best.get(key, value), value)
    return [(*key, *value) for key, value in sorted(best.items())]
