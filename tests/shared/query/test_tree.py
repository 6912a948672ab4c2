"""Lineage as a tree: both directions, columns, cycles, depth."""

from shared.atlas.entities import asset_entity, process_entity
from shared.catalog.memory import MemoryCatalog
from shared.model import Asset, Column, ColumnEdge, EdgeKind, Process
from shared.query.processes import InCatalog
from shared.query.traversal import Direction, lineage
from shared.query.tree import Branch, tree


def asset(name: str) -> Asset:
    return Asset(type="fs_path", qualified_name=f"file:///{name}", namespace="file", name=f"/{name}")


def catalog_of(*pairs: str) -> MemoryCatalog:
    catalog = MemoryCatalog()
    guids = catalog.create_assets([asset_entity(asset(name)) for name in sorted(set("".join(pairs)))])
    for source, sink in map(tuple, pairs):
        edge = ColumnEdge(
            input=Column(qualified_name=f"file:///{source}", column="x"),
            output=Column(qualified_name=f"file:///{sink}", column="y"),
            kind=EdgeKind.DIRECT,
        )
        process = Process(
            qualified_name=f"p:{source}{sink}",
            name=f"{source}{sink}",
            operations=("insert",),
            inputs=(asset(source),),
            outputs=(asset(sink),),
            columns=(edge,),
        )
        catalog.write_processes([process_entity(process)], guids)
    return catalog


def walk(found: tuple[Branch, ...]) -> list[object]:
    return [[each.name, [(end.dataset.name, end.columns, walk(end.beyond)) for end in each.ends]] for each in found]


def seen(catalog: MemoryCatalog, base: str, direction: Direction, depth: int) -> list[object]:
    found = lineage(InCatalog(catalog), f"file:///{base}", direction=direction, depth=depth)
    return walk(tree(found, "upstream" if direction == "upstream" else "downstream"))


def test_upstream_is_followed_with_columns_to_the_requested_depth() -> None:
    catalog = catalog_of("ab", "bc", "cd")
    pair = (("x", "y"),)
    assert seen(catalog, "d", "upstream", 2) == [["cd", [("c", pair, [["bc", [("b", pair, [])]]])]]]
    assert seen(catalog, "d", "upstream", 1) == [["cd", [("c", pair, [])]]]
    assert seen(catalog, "a", "upstream", 3) == []


def test_downstream_forks() -> None:
    pair = (("x", "y"),)
    assert seen(catalog_of("ab", "ac"), "a", "downstream", 3) == [["ab", [("b", pair, [])]], ["ac", [("c", pair, [])]]]


def test_a_cycle_ends() -> None:
    pair = (("x", "y"),)
    assert seen(catalog_of("ab", "ba"), "a", "downstream", 9) == [["ab", [("b", pair, [["ba", [("a", pair, [])]]])]]]
