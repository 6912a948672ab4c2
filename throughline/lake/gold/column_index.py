"""The columns of the current lineage as numbers, for closures, and the names of these numbers. No Spark.

Each name is stored once. A column is a pair of numbers, and a node is the index of that pair in the sorted pairs.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from throughline.lake.gold.graph import Graph, Ints

Names = npt.NDArray[np.object_]

ALL_ROWS = ""
"""The column that stands for all rows of a data set."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Nodes:
    """Columns by number: the node `n` is column `columns[column[n]]` of `assets[asset[n]]`; all four are sorted."""

    assets: Names
    columns: Names
    asset: Ints
    column: Ints

    def __len__(self) -> int:
        return len(self.asset)

    def find(self, asset: str, column: str) -> int | None:
        """The node of a column; None when there is none."""
        asset_place, called = _place(self.assets, asset), _place(self.columns, column)
        if asset_place is None or called is None:
            return None
        begin, end = np.searchsorted(self.asset, [asset_place, asset_place + 1])
        place = int(begin + np.searchsorted(self.column[begin:end], called))
        return place if place < end and self.column[place] == called else None

    def name_of(self, node: int) -> tuple[str, str]:
        """The data set and the column of a node."""
        return str(self.assets[self.asset[node]]), str(self.columns[self.column[node]])

    def asset_of(self, nodes: Ints) -> pa.Array:
        """The names of the data sets of these nodes."""
        return pa.array(self.assets, type=pa.string()).take(pa.array(self.asset[nodes]))

    def column_of(self, nodes: Ints) -> pa.Array:
        """The names of these nodes' columns."""
        return pa.array(self.columns, type=pa.string()).take(pa.array(self.column[nodes]))


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns:
    """The columns of the current lineage as `nodes`, and its edges between them as numbers in `start` and `end`, with
    `direct`, `masked` and `opaque`, and `process` as an index into `processes`.

    A column that decides over all rows of a data set reaches all columns of it.
    """

    nodes: Nodes
    start: Ints
    end: Ints
    direct: npt.NDArray[np.bool_]
    masked: npt.NDArray[np.bool_]
    opaque: npt.NDArray[np.bool_]
    process: Ints
    processes: Names

    @classmethod
    def of(cls, edges: pd.DataFrame) -> "Columns":
        """From edges with `input`, `input_column`, `output`, `output_column`, `direct`, `masked`, `opaque` and
        `process`.
        """
        asset, assets = _numbered(edges["input"], edges["output"])
        column, columns = _numbered(edges["input_column"], edges["output_column"])
        pairs, ends = np.unique(asset * len(columns) + column, return_inverse=True)
        nodes = Nodes(assets=assets, columns=columns, asset=pairs // len(columns), column=pairs % len(columns))
        process, processes = _numbered(edges["process"])
        upper_nodes, lower_nodes = _into_each(nodes)
        inner = np.zeros(len(upper_nodes), dtype=bool)
        return cls(
            nodes=nodes,
            start=np.concatenate((ends[: len(edges)], upper_nodes)),
            end=np.concatenate((ends[len(edges) :], lower_nodes)),
            direct=np.concatenate((edges["direct"].to_numpy(dtype=bool), inner)),
            masked=np.concatenate((edges["masked"].to_numpy(dtype=bool), inner)),
            opaque=np.concatenate((edges["opaque"].to_numpy(dtype=bool), inner)),
            process=np.concatenate((process, np.full(len(upper_nodes), len(processes)))),
            processes=np.append(processes, ""),
        )

    @cached_property
    def graph(self) -> Graph:
        """Of all edges."""
        return Graph.of(self.start, self.end, len(self.nodes))

    @cached_property
    def direct_graph(self) -> Graph:
        """Of the edges that carry values, masked ones too."""
        return self.graph if self.direct.all() else self.graph_of(self.direct)

    def graph_of(self, mask: npt.NDArray[np.bool_]) -> Graph:
        """Of some edges."""
        return Graph.of(self.start[mask], self.end[mask], len(self.nodes))


def _numbered(*sides: "pd.Series[Any]") -> tuple[Ints, Names]:
    """Names as indexes into the sorted distinct names."""
    codes, names = pd.factorize(pd.concat(sides, ignore_index=True), sort=True)
    return codes.astype(np.int64), np.asarray(names, dtype=object)


def _place(names: Names, name: str) -> int | None:
    place = int(np.searchsorted(names, name))
    return place if place < len(names) and names[place] == name else None


def _into_each(nodes: Nodes) -> tuple[Ints, Ints]:
    """Edges from all rows of a data set to each of its columns; the empty name is the first of all."""
    row_nodes = np.flatnonzero(nodes.column == _place(nodes.columns, ALL_ROWS)) if len(nodes) else _NO_NODES
    ends = np.searchsorted(nodes.asset, nodes.asset[row_nodes], side="right")
    counts = ends - row_nodes - 1
    upper_nodes = np.repeat(row_nodes, counts)
    offsets = np.arange(len(upper_nodes)) - np.repeat(np.cumsum(counts) - counts, counts)
    return upper_nodes, upper_nodes + 1 + offsets


_NO_NODES: Ints = np.empty(0, dtype=np.int64)
