"""The local catalog's search texts: they follow the entities, through changes, rollbacks and a restart."""

from pathlib import Path

import pytest

from throughline.local.catalog.graph.store import Entity, Store
from throughline.local.catalog.search.query_words import condition_of


def entity(guid: str, name: str) -> Entity:
    return Entity(
        guid=guid,
        type_name="fs_path",
        qualified_name=f"file:///{guid}",
        status="ACTIVE",
        created=1,
        updated=1,
        version=0,
        body={"attributes": {"name": name}},
    )


def found(store: Store, keywords: str) -> list[str]:
    where = condition_of(keywords, blank="AND")
    return [each.guid for each in store.select(where.sql, where.values)]


def fail_after(store: Store, changed: Entity) -> None:
    with store.transaction():
        store.put_entity(changed)
        raise ZeroDivisionError


def test_the_keyword_index_follows_changes_of_entities(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "data"))
    store.put_entity(entity("a", "Orders"))
    store.put_entity(entity("b", "Items"))
    assert [found(store, keywords) for keywords in ("orders", "ITEMS file", "a OR items")] == [["a"], ["b"], ["a", "b"]]
    store.put_entity(entity("a", "Sales"))
    assert [found(store, keywords) for keywords in ("orders", "sales")] == [[], ["a"]]
    with pytest.raises(ZeroDivisionError):
        fail_after(store, entity("a", "Other"))
    assert [found(store, keywords) for keywords in ("other", "sales")] == [[], ["a"]]
    store.drop_entity("b")
    assert found(store, "items") == []
    store.close()
    again = Store(str(tmp_path / "data"))
    assert found(again, "sales") == ["a"]
    again.close()
