"""Gold, `impact` and `tags`: what depends on a column, and where a tagged one went."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from spark_pipeline.arrow import schema_of, shape
from spark_pipeline.graph import Closure, Graph
from spark_pipeline.lake import Lake
from spark_pipeline.schemas import CURRENT, IMPACT, TAGS

DEEPEST = 32
"""Steps that are followed: a chain of tables that is longer is cut there."""

_TOGETHER = 2_000
"""Columns whose closures are made at once, in one worker."""

_DIRECT = "DIRECT"
_PAIRS = shape("""
    source bigint -
    target bigint -
    depth int -
    paths bigint -
    direct boolean -
    edge bigint -""")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Columns:
    """The columns of the current lineage as nodes, and its edges between them, as tables of pandas.

    A column that decides over all rows of a data set reaches all columns of it.
    """

    nodes: pd.DataFrame
    edges: pd.DataFrame

    @classmethod
    def of(cls, edges: pd.DataFrame) -> "Columns":
        """From edges with `input`, `input_column`, `output`, `output_column`, `direct`, `masked` and `process`."""
        sides = [edges[[side, f"{side}_column"]].set_axis(["asset", "column"], axis=1) for side in ("input", "output")]
        nodes = pd.concat(sides).drop_duplicates().sort_values(["asset", "column"]).reset_index(drop=True)
        whole = nodes[nodes["column"] == ""].merge(nodes[nodes["column"] != ""], on="asset")
        inner = pd.DataFrame(
            {
                "input": whole["asset"],
                "input_column": "",
                "output": whole["asset"],
                "output_column": whole["column_y"],
                "direct": False,
                "masked": False,
                "process": "",
            }
        )
        edges = pd.concat([edges, inner], ignore_index=True) if len(inner) else edges.reset_index(drop=True)
        index = pd.MultiIndex.from_frame(nodes)
        numbered = {
            end: index.get_indexer(pd.MultiIndex.from_frame(edges[[side, f"{side}_column"]]))
            for end, side in (("start", "input"), ("end", "output"))
        }
        return cls(nodes=nodes, edges=edges.assign(**numbered))

    def graph(self, kept: Any = None) -> Graph:
        """The graph of these edges (all unless given)."""
        starts, ends = (self.edges[end].to_numpy(dtype=np.int64) for end in ("start", "end"))
        if kept is not None:
            starts, ends = starts[kept.to_numpy()], ends[kept.to_numpy()]
        return Graph.of(starts, ends, len(self.nodes))

    def number(self, asset: str, column: str) -> int | None:
        """The node of a column; None when no edge has it."""
        found = self.nodes.index[(self.nodes["asset"] == asset) & (self.nodes["column"] == column)]
        return int(found[0]) if len(found) else None


def column_edges(lake: Lake) -> DataFrame:
    """The edges of the current lineage."""
    each = lake.live(CURRENT).select("process", f.explode("columns").alias("e"))
    return each.select(
        "e.input",
        "e.input_column",
        "e.output",
        "e.output_column",
        (f.col("e.kind") == _DIRECT).alias("direct"),
        "e.masked",
        "process",
    )


def columns_of(edges: DataFrame) -> Columns:
    """The same in this process's memory: some 200 bytes an edge."""
    edges.sparkSession.conf.set("spark.sql.execution.arrow.pyspark.enabled", "true")
    return Columns.of(edges.orderBy("input", "input_column", "output", "output_column", "process").toPandas())


def write_impact(lake: Lake, *, batch: int, deepest: int = DEEPEST) -> int:
    """Make `impact` anew from the current lineage; how many rows have changed."""
    return lake.put(IMPACT, impact(lake, columns_of(column_edges(lake)), deepest=deepest), batch=batch, whole=True)


def impact(lake: Lake, known: Columns, *, deepest: int = DEEPEST) -> DataFrame:
    """Rows of `impact`: the closure of each column, many columns at a time in each worker."""
    session = lake.session
    graph, direct = known.graph(), known.graph(known.edges["direct"])
    both = session.sparkContext.broadcast((graph, direct))
    starts = np.unique(graph.starts)
    chunks = [(int(number),) for number in range((len(starts) + _TOGETHER - 1) // _TOGETHER)]
    parts = max(1, min(len(chunks), session.sparkContext.defaultParallelism * 4))
    given = session.createDataFrame(chunks, "chunk int").repartition(parts)

    schema = schema_of(_PAIRS)

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        whole, plain = both.value
        sources = np.unique(whole.starts)
        for chunk in (chunk for batch in batches for chunk in batch.column(0).to_pylist()):
            some = sources[chunk * _TOGETHER : (chunk + 1) * _TOGETHER]
            yield _pairs(whole.closure(some, depth=deepest), plain.closure(some, depth=deepest), whole.size, schema)

    pairs = given.mapInArrow(work, _PAIRS)
    names = _table(session, known.nodes.assign(node=known.nodes.index))
    last = _table(session, _in_order(known, graph))
    found = pairs.join(f.broadcast(last), "edge")
    for side, column in (("source", "source"), ("target", "target"), ("start", "before")):
        named = names.select(
            f.col("node").alias(side), f.col("asset").alias(f"{column}_name"), f.col("column").alias(f"{column}_column")
        )
        found = found.join(f.broadcast(named), side).drop(side)
    return found.select(
        *(f.col(f"{each}_name").alias(each) for each in ("source", "target", "before")),
        *(f"{each}_column" for each in ("source", "target", "before")),
        "depth",
        "paths",
        "direct",
        "process",
    )


def _in_order(known: Columns, graph: Graph) -> pd.DataFrame:
    """The process of each edge and where it starts, by its place in the graph."""
    process = known.edges["process"].to_numpy()[graph.order]
    return pd.DataFrame({"process": process, "start": graph.starts, "edge": np.arange(len(process))})


def _table(session: Any, rows: pd.DataFrame) -> DataFrame:
    session.conf.set("spark.sql.execution.arrow.pyspark.enabled", "true")
    found: DataFrame = session.createDataFrame(rows)
    return found


def _pairs(whole: Closure, plain: Closure, size: int, schema: pa.Schema) -> pa.RecordBatch:
    values = np.isin(whole.source * size + whole.target, plain.source * size + plain.target)
    columns = (whole.source, whole.target, whole.depth.astype(np.int32), whole.paths, values, whole.edge)
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """A column that depends on another, and the process of the last step of one shortest way to it."""

    asset: str
    column: str
    depth: int
    direct: bool
    process: str


def downstream(known: Columns, asset: str, column: str, *, deepest: int = DEEPEST) -> list[Reached]:
    """All that depends on one column, nearest first; empty when no edge has it."""
    number = known.number(asset, column)
    if number is None:
        return []
    graph, direct = known.graph(), known.graph(known.edges["direct"])
    some = np.array([number], dtype=np.int64)
    found = graph.closure(some, depth=deepest)
    values = set(direct.closure(some, depth=deepest).target.tolist())
    processes = known.edges["process"].to_numpy()
    rows = zip(found.target.tolist(), found.depth.tolist(), found.edge.tolist(), strict=True)
    assets, names = known.nodes["asset"].to_numpy(), known.nodes["column"].to_numpy()
    return [
        Reached(
            asset=str(assets[target]),
            column=str(names[target]),
            depth=depth,
            direct=target in values,
            process=str(processes[graph.order[edge]]),
        )
        for target, depth, edge in rows
    ]


def write_tags(lake: Lake, tags: DataFrame, *, batch: int, deepest: int = DEEPEST) -> int:
    """Spread tags (`qualified_name`, `column`, `tag`) along direct columns, ending at masks: how many rows changed."""
    lake.session.conf.set("spark.sql.execution.arrow.pyspark.enabled", "true")
    seeds = tags.select("qualified_name", "column", "tag").distinct().toPandas()
    found = spread(columns_of(column_edges(lake)), seeds, deepest=deepest)
    return lake.put(TAGS, lake.session.createDataFrame(found, _TAGS), batch=batch, whole=True)


_TAGS = shape("\n".join(f"{each.name} {each.type} -" for each in TAGS.columns if each.name != "batch"))


def spread(known: Columns, seeds: pd.DataFrame, *, deepest: int = DEEPEST) -> list[tuple[Any, ...]]:
    """Where tagged columns went, each with the nearest place where its tag was set: rows of `tags`."""
    graph = known.graph(known.edges["direct"] & ~known.edges["masked"])
    best: dict[tuple[str, str, str], tuple[int, str, str]] = {}
    assets, names = known.nodes["asset"].tolist(), known.nodes["column"].tolist()
    for asset, column, tag in seeds.itertuples(index=False):
        best[asset, column, tag] = (0, asset, column)
        number = known.number(asset, column)
        if number is None:
            continue
        found = graph.closure(np.array([number], dtype=np.int64), depth=deepest)
        for target, depth in zip(found.target.tolist(), found.depth.tolist(), strict=True):
            key, value = (assets[target], names[target], tag), (depth, asset, column)
            best[key] = min(best.get(key, value), value)
    return [(*key, *value) for key, value in sorted(best.items())]
