"""The local catalog's store: what a failed transaction leaves, and what another start reads."""

from pathlib import Path

import pytest

from throughline.local.catalog.store import Entity, NameTakenError, Store


def entity(guid: str, name: str, status: str = "ACTIVE") -> Entity:
    body = {"attributes": {"name": name}}
    return Entity(guid=guid, type="fs_path", qualified_name=name, created=1, updated=1, body=body, status=status)


def content(store: Store) -> tuple[list[str | None], list[str], list[str]]:
    """The names of the entities, the ends of the relationships of `a`, and the types."""
    names = [each.qualified_name for each in store.entities.values() if each.active]
    return names, [edge.end2 for edge in store.edges_of("a")], list(store.typedefs)


def change_all(store: Store) -> None:
    """Change each kind of row, and then write a name that is taken."""
    with store.transaction():
        store.put_entity(entity("a", "renamed"))
        store.end_edge(store.edges_of("a")[0], keep=False)
        store.add_edge("relates", "a", "c")
        store.put_typedef({"name": "second", "category": "ENTITY"})
        store.put_entity(entity("d", "b"))


def test_a_failed_transaction_leaves_nothing_in_memory_and_in_the_file(tmp_path: Path) -> None:
    path = str(tmp_path / "data")
    store = Store(path)
    with store.transaction():
        for guid in "abc":
            store.put_entity(entity(guid, guid))
        store.add_edge("relates", "a", "b")
        store.put_typedef({"name": "type", "category": "ENTITY"})
    full_content = (["a", "b", "c"], ["b"], ["type"])
    assert content(store) == full_content
    with pytest.raises(NameTakenError):
        change_all(store)
    assert content(store) == full_content
    assert store.named(["fs_path"], "renamed") is None
    with store.transaction():
        store.drop_entity("b")
        store.put_entity(entity("c", "c", status="DELETED"))
        store.put_entity(entity("d", "b"))
    assert content(store) == (["a", "b"], [], ["type"])
    store.close()
    reread = Store(path)
    assert content(reread) == (["a", "b"], [], ["type"])
    assert [found.guid for name in "abc" if (found := reread.named(["fs_path"], name))] == ["a", "d"]
    reread.close()
