"""Shortest ways: what some nodes of a graph reach, and by which links."""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)
Link = TypeVar("Link")


def reach(starts: Iterable[Node], steps: Callable[[Node], Iterable[tuple[Link, Node]]]) -> dict[Node, Link | None]:
    """All nodes that the starts reach, the nearest first, each with the link by which a shortest way enters it (None: a
    start). `steps`: the links of a node, each with the node that it leads to.
    """
    entered: dict[Node, Link | None] = dict.fromkeys(starts)
    waiting = deque(entered)
    while waiting:
        for link, node in steps(waiting.popleft()):
            if node not in entered:
                entered[node] = link
                waiting.append(node)
    return entered


def way_back(entered: Mapping[Node, Link | None], node: Node, before: Callable[[Link], Node]) -> Iterator[Link]:
    """The links of the shortest way to a node, the last first. `before`: the node from which a link was followed."""
    while (link := entered.get(node)) is not None:
        yield link
        node = before(link)
