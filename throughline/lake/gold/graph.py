"""Columns and their edges as arrays: closures of many columns at once. numpy, no Spark.

All pairs of a step are extended together, by the offsets of the sorted edges, and known pairs are removed: this ends
cycles.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Closure:
    """Pairs of a source and a reached node: depth, the number of shortest paths, and the edge of the last step of one
    of them (its index in the sorted edges).
    """

    source: Ints
    target: Ints
    depth: Ints
    paths: Ints
    edge: Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Graph:
    """Edges between nodes 0 … `size` - 1, sorted by where they start; `offsets` are where those of a node begin.

    `order` are their indexes in the input.
    """

    size: int
    offsets: Ints
    starts: Ints
    ends: Ints
    order: Ints

    @classmethod
    def of(cls, starts: Ints, ends: Ints, size: int) -> "Graph":
        """From pairs of nodes."""
        order = np.lexsort((ends, starts)).astype(np.int64)
        counts = np.bincount(starts, minlength=size)
        offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        return cls(size=size, offsets=offsets, starts=starts[order], ends=ends[order], order=order)

    def closure(self, sources: Ints, *, depth: int) -> Closure:
        """Everything that these nodes reach in at most `depth` steps, except themselves."""
        front_source, front_node = sources.astype(np.int64), sources.astype(np.int64)
        front_paths = np.ones(len(sources), dtype=np.int64)
        known_pairs = np.unique(front_source * self.size + front_node)
        rounds: list[tuple[Ints, Ints, Ints, Ints, Ints]] = []
        for step in range(1, depth + 1):
            edges, parents = self._out_of(front_node)
            if not len(edges):
                break
            keys = front_source[parents] * self.size + self.ends[edges]
            is_fresh = ~_within(known_pairs, keys)
            keys, edges, parents = keys[is_fresh], edges[is_fresh], parents[is_fresh]
            if not len(keys):
                break
            pairs, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
            paths = np.zeros(len(pairs), dtype=np.int64)
            np.add.at(paths, inverse, front_paths[parents])
            front_source, front_node, front_paths = pairs // self.size, pairs % self.size, paths
            known_pairs = np.union1d(known_pairs, pairs)
            rounds.append((front_source, front_node, np.full(len(pairs), step), paths, edges[first]))
        columns = [np.concatenate(parts) for parts in zip(*rounds, strict=True)] if rounds else [_NONE] * 5
        return Closure(source=columns[0], target=columns[1], depth=columns[2], paths=columns[3], edge=columns[4])

    def _out_of(self, nodes: Ints) -> tuple[Ints, Ints]:
        """The edges out of these nodes, and for each the place of its node among them."""
        begin, end = self.offsets[nodes], self.offsets[nodes + 1]
        counts = end - begin
        parents = np.repeat(np.arange(len(nodes)), counts)
        offsets = np.arange(len(parents)) - np.repeat(np.cumsum(counts) - counts, counts)
        return begin[parents] + offsets, parents


_NONE: Ints = np.empty(0, dtype=np.int64)


def _within(sorted_values: Ints, values: Ints) -> npt.NDArray[np.bool_]:
    places = np.minimum(np.searchsorted(sorted_values, values), len(sorted_values) - 1)
    membership: npt.NDArray[np.bool_] = sorted_values[places] == values
    return membership
