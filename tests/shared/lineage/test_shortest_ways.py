"""The nodes that can be reached, and a shortest path to each."""

from shared.lineage.graph import reach, way_back

LINKS = {"ab": ("a", "b"), "bc": ("b", "c"), "ac": ("a", "c"), "cd": ("c", "d"), "da": ("d", "a"), "xy": ("x", "y")}


def test_the_nearest_nodes_are_reached_first_by_a_link_of_a_shortest_path() -> None:
    entered = reach(["a"], lambda node: ((link, target) for link, (source, target) in LINKS.items() if source == node))
    assert entered == {"a": None, "b": "ab", "c": "ac", "d": "cd"}
    assert list(entered) == ["a", "b", "c", "d"]
    assert list(way_back(entered, "d", lambda link: LINKS[link][0])) == ["cd", "ac"]
    assert list(way_back(entered, "a", lambda link: LINKS[link][0])) == []
    assert list(way_back(entered, "y", lambda link: LINKS[link][0])) == []
