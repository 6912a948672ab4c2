"""Place cards in layers from left to right, so that edges point right and few cross.

The layered method of Sugiyama, Tagawa and Toda (1981): break circles, give each card a layer, order each layer by the
middle of its neighbours, then move cards towards them. The page has the same steps in viewer/layout.js.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

CARD_WIDTH = 220
HEAD_HEIGHT = 44
ROW_HEIGHT = 20
LAYER_GAP = 150
CARD_GAP = 24
_SWEEPS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """Where a card stands: its upper left corner and its height, in pixels."""

    x: float
    y: float
    height: float


def layout(heights: Mapping[int, float], edges: Sequence[tuple[int, int]]) -> dict[int, Box]:
    """Boxes for cards of these heights, and edges between them; the same input gives the same boxes."""
    arrows = sorted({(one, other) for one, other in edges if one != other})
    layers = _layers(sorted(heights), _without_circles(sorted(heights), arrows))
    rows: list[list[int]] = [[] for _ in range(max(layers.values(), default=-1) + 1)]
    for card in sorted(heights):
        rows[layers[card]].append(card)
    _order(rows, arrows)
    return _placed(rows, heights, arrows)


def _without_circles(cards: Sequence[int], arrows: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The arrows, those turned round that close a circle on a walk in depth."""
    out: dict[int, list[int]] = {card: [] for card in cards}
    for one, other in arrows:
        out[one].append(other)
    done: set[int] = set()
    open_: set[int] = set()
    turned: set[tuple[int, int]] = set()
    for start in cards:
        stack = [(start, iter(out[start]))] if start not in done else []
        open_.add(start)
        while stack:
            card, rest = stack[-1]
            for other in rest:
                if other in open_:
                    turned.add((card, other))
                elif other not in done:
                    open_.add(other)
                    stack.append((other, iter(out[other])))
                    break
            else:
                stack.pop()
                open_.discard(card)
                done.add(card)
        open_.discard(start)
    return [(other, one) if (one, other) in turned else (one, other) for one, other in arrows]


def _layers(cards: Sequence[int], arrows: Sequence[tuple[int, int]]) -> dict[int, int]:
    """The longest path to each card; a card without inputs stands as far right as its readers allow."""
    inputs: dict[int, list[int]] = {card: [] for card in cards}
    out: dict[int, list[int]] = {card: [] for card in cards}
    for one, other in arrows:
        out[one].append(other)
        inputs[other].append(one)
    layers: dict[int, int] = {}
    for card in TopologicalSorter(inputs).static_order():
        layers[card] = max((layers[each] + 1 for each in inputs[card]), default=0)
    for card in cards:
        if not inputs[card] and out[card]:
            layers[card] = min(layers[other] for other in out[card]) - 1
    return layers


def _order(rows: list[list[int]], arrows: Sequence[tuple[int, int]]) -> None:
    """Order each layer by the mean place of its neighbours in the others, sweeping to and fro."""
    near = _neighbours(arrows)
    for sweep in range(_SWEEPS):
        place = {card: number / max(len(row) - 1, 1) for row in rows for number, card in enumerate(row)}
        for row in rows if sweep % 2 == 0 else reversed(rows):
            row.sort(key=lambda card: (_mean([place[each] for each in near.get(card, ())], place[card]), card))
            place |= {card: number / max(len(row) - 1, 1) for number, card in enumerate(row)}


def _neighbours(arrows: Sequence[tuple[int, int]]) -> dict[int, list[int]]:
    near: dict[int, list[int]] = {}
    for one, other in arrows:
        near.setdefault(one, []).append(other)
        near.setdefault(other, []).append(one)
    return near


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def _placed(
    rows: Sequence[Sequence[int]], heights: Mapping[int, float], arrows: Sequence[tuple[int, int]]
) -> dict[int, Box]:
    """Coordinates: cards of a layer one below the other, each as near to its neighbours as there is room."""
    near = _neighbours(arrows)
    top: dict[int, float] = {}
    for row in rows:
        y = 0.0
        for card in row:
            top[card] = y
            y += heights[card] + CARD_GAP
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted = [
                _mean([top[each] + heights[each] / 2 for each in near.get(card, ())], top[card] + heights[card] / 2)
                - heights[card] / 2
                for card in row
            ]
            _pack(row, wanted, heights, top)
    lowest = min(top.values(), default=0.0)
    return {
        card: Box(x=layer * (CARD_WIDTH + LAYER_GAP), y=top[card] - lowest, height=heights[card])
        for layer, row in enumerate(rows)
        for card in row
    }


def _pack(row: Sequence[int], wanted: Sequence[float], heights: Mapping[int, float], top: dict[int, float]) -> None:
    """Give the cards of a layer their wanted places in order, moving whole blocks where they would overlap."""
    blocks: list[tuple[list[int], float, float]] = []  # cards, the sum of their wished tops for the block, height
    for card, wish in zip(row, wanted, strict=True):
        block = ([card], wish, heights[card] + CARD_GAP)
        while blocks and blocks[-1][1] / len(blocks[-1][0]) + blocks[-1][2] > block[1] / len(block[0]):
            cards, wishes, height = blocks.pop()
            block = (cards + block[0], wishes + block[1] - height * len(block[0]), height + block[2])
        blocks.append(block)
    for cards, wishes, _ in blocks:
        y = wishes / len(cards)
        for card in cards:
            top[card] = y
            y += heights[card] + CARD_GAP
