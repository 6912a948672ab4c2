"""A selection as an SVG picture (SVG 1.1): a card for each data set, a curve for each flow or edge.

Cards are placed in layers from left to right, so that edges point right and few cross. The layered method of Sugiyama,
Tagawa and Toda (1981): break circles, give each card a layer, order each layer by the middle of its neighbours, then
move cards towards them. The page has the same steps in viewer/layout.js.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from xml.sax.saxutils import escape

from shared.lineage.document import Kind
from shared.lineage.exports import ALL_ROWS, Selection
from shared.texts import visible

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
    arrows = sorted({(start, other) for start, other in edges if start != other})
    layers = _layers(sorted(heights), _without_circles(sorted(heights), arrows))
    rows: list[list[int]] = [[] for _ in range(max(layers.values(), default=-1) + 1)]
    for card in sorted(heights):
        rows[layers[card]].append(card)
    _order(rows, arrows)
    return _placed(rows, heights, arrows)


def _without_circles(cards: Sequence[int], arrows: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The arrows, those turned round that close a circle on a walk in depth."""
    out: dict[int, list[int]] = {card: [] for card in cards}
    for begin, other in arrows:
        out[begin].append(other)
    finished_cards: set[int] = set()
    open_: set[int] = set()
    turned: set[tuple[int, int]] = set()
    for start in cards:
        stack = [(start, iter(out[start]))] if start not in finished_cards else []
        open_.add(start)
        while stack:
            card, remaining_cards = stack[-1]
            for other in remaining_cards:
                if other in open_:
                    turned.add((card, other))
                elif other not in finished_cards:
                    open_.add(other)
                    stack.append((other, iter(out[other])))
                    break
            else:
                stack.pop()
                open_.discard(card)
                finished_cards.add(card)
        open_.discard(start)
    return [(other, start) if (start, other) in turned else (start, other) for start, other in arrows]


def _layers(cards: Sequence[int], arrows: Sequence[tuple[int, int]]) -> dict[int, int]:
    """The longest path to each card; a card without inputs stands as far right as its readers allow."""
    inputs: dict[int, list[int]] = {card: [] for card in cards}
    out: dict[int, list[int]] = {card: [] for card in cards}
    for start, other in arrows:
        out[start].append(other)
        inputs[other].append(start)
    layers: dict[int, int] = {}
    for card in TopologicalSorter(inputs).static_order():
        layers[card] = max((layers[neighbour] + 1 for neighbour in inputs[card]), default=0)
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
            row.sort(
                key=lambda card: (_mean([place[neighbour] for neighbour in near.get(card, ())], place[card]), card)
            )
            place |= {card: number / max(len(row) - 1, 1) for number, card in enumerate(row)}


def _neighbours(arrows: Sequence[tuple[int, int]]) -> dict[int, list[int]]:
    near: dict[int, list[int]] = {}
    for start, other in arrows:
        near.setdefault(start, []).append(other)
        near.setdefault(other, []).append(start)
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
            wishes = [
                _mean(
                    [top[neighbour] + heights[neighbour] / 2 for neighbour in near.get(card, ())],
                    top[card] + heights[card] / 2,
                )
                - heights[card] / 2
                for card in row
            ]
            _pack(row, wishes, heights, top)
    lowest = min(top.values(), default=0.0)
    return {
        card: Box(x=layer * (CARD_WIDTH + LAYER_GAP), y=top[card] - lowest, height=heights[card])
        for layer, row in enumerate(rows)
        for card in row
    }


def _pack(row: Sequence[int], desired: Sequence[float], heights: Mapping[int, float], top: dict[int, float]) -> None:
    """Give the cards of a layer their wanted places in order, moving whole blocks where they would overlap."""
    blocks: list[tuple[list[int], float, float]] = []  # cards, the sum of their wished tops for the block, height
    for card, wish in zip(row, desired, strict=True):
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


_MARGIN = 24
_FOOT = 6
_MAX_TITLE = 28
_MAX_ROW = 32
COLOURS = {
    Kind.IDENTITY: "#2563eb",
    Kind.TRANSFORMATION: "#7c3aed",
    Kind.AGGREGATION: "#b45309",
    Kind.MASK: "#047857",
    Kind.OPAQUE: "#be185d",
    Kind.CATALOG: "#0e7490",
    Kind.CONDITION: "#6b7280",
}
_NAMED = frozenset({Kind.TRANSFORMATION, Kind.AGGREGATION, Kind.MASK, Kind.OPAQUE, Kind.CATALOG})
"""Kinds that have their word beside the curve; colour and dashes alone would not do."""
_DASHES = {Kind.MASK: "6 3", Kind.OPAQUE: "8 3 2 3", Kind.CATALOG: "1 4", Kind.CONDITION: "2 4"}
_STYLE = (
    "text{font-family:system-ui,sans-serif;font-size:12px;fill:#111827}"
    ".store{fill:#6b7280;font-size:10px}.title{font-weight:600}"
    ".card{fill:#fff;stroke:#d1d5db}.subject{stroke:#2563eb;stroke-width:2}.edge{fill:none;stroke-width:1.5}"
    ".kind{font-size:10px;paint-order:stroke;stroke:#f9fafb;stroke-width:3px}"
)


def as_svg(selection: Selection, *, subject: int | None = None) -> str:
    """The picture; the same selection gives the same bytes. `subject`: the data set to mark."""
    columns = selection.columns_by_dataset
    heights = {number: float(HEAD_HEIGHT + ROW_HEIGHT * len(columns[number]) + _FOOT) for number in selection.datasets}
    pairs = [(flow.input, flow.output) for flow in selection.shown_flows]
    boxes = layout(heights, pairs)
    width = max((box.x + CARD_WIDTH for box in boxes.values()), default=0) + 2 * _MARGIN
    height = max((box.y + box.height for box in boxes.values()), default=0) + 2 * _MARGIN
    size = f'width="{width:g}" height="{height:g}" viewBox="{-_MARGIN} {-_MARGIN} {width:g} {height:g}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        f"<style>{_STYLE}</style>",
        f'<rect x="{-_MARGIN}" y="{-_MARGIN}" width="{width:g}" height="{height:g}" fill="#f9fafb"/>',
        *_curves(selection, boxes, columns),
        *(part for number in sorted(boxes) for part in _card(selection, number, boxes[number], columns, subject)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _card(
    selection: Selection, number: int, box: Box, columns: dict[int, list[int]], subject: int | None
) -> Iterator[str]:
    dataset = selection.document.datasets[number]
    parent = _end_of(_parent(dataset.qualified_name), _MAX_ROW)
    kind = "card subject" if number == subject else "card"
    yield (
        f'<g><title>{_text(dataset.qualified_name)}</title><rect class="{kind}" x="{box.x:g}" y="{box.y:g}"'
        f' width="{CARD_WIDTH}" height="{box.height:g}" rx="6"/>'
        f'<text class="title" x="{box.x + 10:g}" y="{box.y + 18:g}">{_short(dataset.name, _MAX_TITLE)}</text>'
        f'<text class="store" x="{box.x + 10:g}" y="{box.y + 34:g}">{parent}</text>'
    )
    for row, column in enumerate(columns[number]):
        y = box.y + HEAD_HEIGHT + ROW_HEIGHT * row
        name = selection.document.columns[column].name or ALL_ROWS
        yield f'<text x="{box.x + 10:g}" y="{y + 14:g}">{_short(name, _MAX_ROW)}</text>'
    yield "</g>"


def _curves(selection: Selection, boxes: dict[int, Box], columns: dict[int, list[int]]) -> Iterator[str]:
    place = {column: row for own_column in columns.values() for row, column in enumerate(own_column)}
    every = selection.document.columns
    for edge in selection.shown_edges:
        left_dataset, other = every[edge.input].dataset, every[edge.output].dataset
        start, end = (
            _port(boxes[dataset], place[column])
            for dataset, column in ((left_dataset, edge.input), (other, edge.output))
        )
        line = f'stroke="{COLOURS[edge.kind]}"'
        if edge.kind in _DASHES:
            line += f' stroke-dasharray="{_DASHES[edge.kind]}"'
        path = _curve(boxes[left_dataset].x + CARD_WIDTH, start, boxes[other].x, end)
        yield f'<path class="edge" d="{path}" {line}><title>{edge.kind.value}</title></path>'
        if edge.kind in _NAMED:
            x, y = _near_start(boxes[left_dataset].x + CARD_WIDTH, start, boxes[other].x, end)
            yield f'<text class="kind" x="{x:g}" y="{y:g}" text-anchor="middle">{edge.kind.value}</text>'
    for left_dataset, other in selection.links_without_columns:
        start, end = (boxes[linked_dataset].y + HEAD_HEIGHT / 2 for linked_dataset in (left_dataset, other))
        path = _curve(boxes[left_dataset].x + CARD_WIDTH, start, boxes[other].x, end)
        yield f'<path class="edge" d="{path}" stroke="#9ca3af"/>'


def _port(box: Box, row: int) -> float:
    return box.y + HEAD_HEIGHT + ROW_HEIGHT * (row + 0.5)


def _bend(x: float, to_x: float) -> float:
    return max(40.0, abs(to_x - x) / 2)


def _curve(x: float, y: float, to_x: float, to_y: float) -> str:
    bend = _bend(x, to_x)
    return f"M{x:g} {y:g}C{x + bend:g} {y:g} {to_x - bend:g} {to_y:g} {to_x:g} {to_y:g}"


def _near_start(x: float, y: float, to_x: float, to_y: float) -> tuple[float, float]:
    """A point at three tenths of the curve (Bernstein's form of a cubic): there curves into one column are apart."""
    bend, t = _bend(x, to_x), 0.3
    weights = ((1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3)
    points = ((x, y), (x + bend, y), (to_x - bend, to_y), (to_x, to_y))
    across, down = (sum(weight * point[axis] for weight, point in zip(weights, points, strict=True)) for axis in (0, 1))
    return round(across, 1), round(down, 1) + 3


def _parent(qualified_name: str) -> str:
    """The path without its scheme and last part."""
    return qualified_name.partition("://")[2].rstrip("/").rpartition("/")[0]


def _end_of(text: str, limit: int) -> str:
    label = visible(text)
    return _text(label if len(label) <= limit else f"…{label[1 - limit :]}")


def _short(text: str, limit: int) -> str:
    label = visible(text)
    return _text(label if len(label) <= limit else f"{label[: limit - 1]}…")


def _text(text: str) -> str:
    """As XML text, in which XML 1.0 allows no control characters."""
    return escape(visible(text))
