"""The tree of `throughline show`: both directions, columns, cycles, depth."""

from cli.commands.lineage.show import Step, steps
from shared.atlas.entities import asset_entity, process_entity
from shared.catalog.memory import MemoryCatalog
from shared.model import Asset, Column, ColumnEdge, EdgeKind, Process


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


def walk(found: tuple[Step, ...]) -> list[object]:
    return [[step.process.name, [(n.name, pairs, walk(beyond)) for n, pairs, beyond in step.assets]] for step in found]


def seen(catalog: MemoryCatalog, base: str, direction: str, depth: int) -> list[object]:
    guid = catalog.find([("fs_path", f"file:///{base}")])["fs_path", f"file:///{base}"]
    return walk(steps(catalog.lineage(guid, direction=direction, depth=depth), guid, direction, depth))


def test_upstream_is_followed_with_columns_to_the_depth_asked() -> None:
    catalog = catalog_of("ab", "bc", "cd")
    pair = (("x", "y"),)
    assert seen(catalog, "d", "INPUT", 2) == [["cd", [("c", pair, [["bc", [("b", pair, [])]]])]]]
    assert seen(catalog, "d", "INPUT", 1) == [["cd", [("c", pair, [])]]]
    assert seen(catalog, "a", "INPUT", 3) == []


def test_downstream_forks() -> None:
    pair = (("x", "y"),)
    assert seen(catalog_of("ab", "ac"), "a", "OUTPUT", 3) == [["ab", [("b", pair, [])]], ["ac", [("c", pair, [])]]]


def test_a_cycle_ends() -> None:
    pair = (("x", "y"),)
    assert seen(catalog_of("ab", "ba"), "a", "OUTPUT", 9) == [["ab", [("b", pair, [["ba", [("a", pair, [])]]])]]]
