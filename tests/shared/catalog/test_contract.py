"""One contract for the catalog port, held by memory, by the local catalog and by a real Atlas (`--atlas`) alike."""

import json
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar
from urllib.parse import quote

import pytest
import requests
from pyapacheatlas.auth import BasicAuthentication

from shared.atlas.entities import PLACED, PROCESS_TYPE, AssetEntity, ProcessEntity
from shared.atlas.types import COLUMN_TYPE
from shared.catalog.atlas.catalog import AtlasCatalog
from shared.catalog.connection.transport import RetryPolicy, StaticToken, SteadyAtlasClient
from shared.catalog.port import Catalog, Placeholder
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.publishing.placeholders import calls_to_describe
from tests.plugins.atlas import V2
from tests.support.memory_catalog import MemoryCatalog
from tests.support.publishing import process_in
from throughline.local.catalog.server import CatalogServer

T = TypeVar("T")

pytestmark = pytest.mark.contract


@pytest.fixture
def catalog(served: V2 | None) -> Catalog:
    if served is None:
        return MemoryCatalog()
    served.empty()
    return over(served)


def over(server: V2, *, own_columns: bool = False) -> AtlasCatalog:
    credentials = BasicAuthentication(server.user, server.password)
    retry_policy = RetryPolicy(tries=10 if server.real else 1, max_pause=2)
    return AtlasCatalog(
        SteadyAtlasClient(server.endpoint, credentials, retry_policy=retry_policy), own_columns=own_columns
    )


def soon(ask: Callable[[], T], expected_answer: T) -> T:
    """The answer, as soon as it is the wanted one: search lags a moment behind writes."""
    deadline = time.monotonic() + 60
    while (answer := ask()) != expected_answer and time.monotonic() < deadline:
        time.sleep(0.1)
    return answer


def asset(name: str) -> AssetEntity:
    qualified_name = f"file:///data/{name}"
    attributes = (("name", name), ("description", "ours"), ("path", qualified_name))
    return AssetEntity(type="fs_path", qualified_name=qualified_name, attributes=attributes)


def process(inputs: Iterable[str], outputs: Iterable[str], mapping: str = "[]") -> ProcessEntity:
    def keys(names: Iterable[str]) -> tuple[tuple[str, str], ...]:
        return tuple(("fs_path", f"file:///data/{name}") for name in names)

    return ProcessEntity(
        type=PROCESS_TYPE,
        qualified_name=f"throughline:test/{''.join(outputs)}",
        attributes=(("name", f"makes {''.join(outputs)}"), ("description", "a test"), ("columnMapping", mapping)),
        inputs=keys(inputs),
        outputs=keys(outputs),
    )


def test_assets_are_created_and_found_by_exact_name(catalog: Catalog) -> None:
    created = catalog.create_assets([asset("a"), asset("ü b%20c")])
    assert len(set(created.values())) == 2
    keys = [("fs_path", "file:///data/a"), ("fs_path", "file:///data/ü b%20c"), ("fs_path", "file:///data/A")]
    assert catalog.find(keys) == created
    assert catalog.find([]) == {}


def placed(name: str, extra_text: str = "", mark: str = PLACED) -> AssetEntity:
    attributes = dict(asset(name).attributes) | {"description": f"{mark} {extra_text}".strip()}
    return replace(asset(name), attributes=tuple(attributes.items()))


def test_many_assets_are_looked_up_at_once_and_placeholders_are_marked(catalog: Catalog) -> None:
    names = [f"{number:03d} {'ü' * 60}" for number in range(60)]  # several addresses long
    created = catalog.create_assets([placed(name) if name < "030" else asset(name) for name in names])
    nowhere = [("fs_path", "file:///data/nowhere"), ("no_such_type", "file:///data/a")]
    held_assets = catalog.look_up([*created, *nowhere])
    assert {key: held_asset.guid for key, held_asset in held_assets.items()} == created
    assert sum(held_asset.placed for held_asset in held_assets.values()) == 30
    assert catalog.look_up(nowhere) == {}


def test_search_requires_all_terms_and_ignores_case(catalog: Catalog) -> None:
    catalog.create_assets([asset("Order-Items"), asset("orders"), asset("items")])
    assert soon(lambda: [node.name for node in catalog.search("order ITEMS")], ["Order-Items"]) == ["Order-Items"]


def test_many_texts_are_searched_for_in_one_call(catalog: Catalog) -> None:
    catalog.create_assets([asset(name) for name in ("Order-Items", "orders", "items", "not and or")])
    texts = ("items order", "orders", "nobody", "or not", "data and")
    expected_nodes = {
        "items order": {"Order-Items"},
        "orders": {"orders"},
        "nobody": set(),
        "or not": {"not and or"},
        "data and": {"not and or"},
    }

    def found() -> dict[str, set[str]]:
        return {text: {node.name for node in nodes} for text, nodes in (catalog.search_all(texts) or {}).items()}

    assert soon(found, expected_nodes) == expected_nodes
    assert {text: {node.name for node in catalog.search(text)} for text in texts} == expected_nodes


def test_a_placeholder_has_the_columns_that_were_written_last(catalog: Catalog) -> None:
    first = replace(placed("ours"), columns=(("a", "int"), ("b", "string")))
    foreign_asset = replace(placed("theirs", mark="Found by a scan."), columns=(("a", "int"),))
    guids = catalog.create_assets([first, foreign_asset])
    assert sorted(guids) == [asset_entity.key for asset_entity in (first, foreign_asset)]
    assert catalog.describe_placeholder(first) is False, "it has them"
    for columns in ((("a", "bigint"), ("c", "date")), first.columns):
        changed = replace(first, columns=columns)
        assert catalog.describe_placeholder(changed) is True
        assert catalog.describe_placeholder(changed) is False, "no others, and no more than these"
    assert catalog.describe_placeholder(replace(first, columns=())) is False, "none are given: they stay"
    assert catalog.describe_placeholder(first) is False
    bare_asset = replace(first, columns=())
    assert catalog.describe_placeholder(bare_asset, bare=True) is True
    assert catalog.describe_placeholder(bare_asset, bare=True) is False, "it has none any more"
    assert catalog.describe_placeholder(first) is True, "and they may come again"
    assert catalog.describe_placeholder(first) is False
    assert catalog.describe_placeholder(replace(foreign_asset, columns=())) is False
    assert catalog.describe_placeholder(replace(foreign_asset, columns=()), bare=True) is False
    (held_placeholder,) = catalog.placeholders(guids).values()
    assert held_placeholder.links == frozenset(), "its columns are its own"
    catalog.remove([held_placeholder.guid, *held_placeholder.parts])
    assert catalog.placeholders(guids) == {}
    assert catalog.create_assets([first]), "and all of it may come again"
    assert catalog.describe_placeholder(first) is False


def test_placeholders_that_are_up_to_date_are_told_apart_at_once(catalog: Catalog) -> None:
    columns = (("a", "int"), ("b", "string"))
    held_asset_entities = [replace(placed(name), columns=columns) for name in ("same", "other", "bare")]
    foreign_asset = placed("theirs", mark="Found by a scan.")
    catalog.create_assets([*held_asset_entities, placed("described"), foreign_asset])
    bare_assets = [replace(asset_entity, columns=()) for asset_entity in held_asset_entities]
    nowhere = placed("nowhere")
    current_keys = catalog.up_to_date(
        [held_asset_entities[0], replace(held_asset_entities[1], columns=columns[:1]), foreign_asset, nowhere]
    )
    assert current_keys == {held_asset_entities[0].key, foreign_asset.key, nowhere.key}
    assert catalog.up_to_date(bare_assets, bare=frozenset({held_asset_entities[2].key})) == {
        asset_entity.key for asset_entity in held_asset_entities[:2]
    }
    assert catalog.up_to_date([placed("described", "Dropped.")]) == frozenset()
    assert catalog.up_to_date([placed("described")], bare=frozenset({placed("described").key}))
    assert catalog.up_to_date([]) == frozenset()


def test_only_our_placeholders_get_a_new_description(catalog: Catalog) -> None:
    catalog.create_assets([placed("ours"), placed("theirs", mark="Found by a scan.")])
    assert catalog.describe_placeholder(placed("ours", "Dropped.")) is True
    assert catalog.describe_placeholder(placed("ours", "Dropped.")) is False, "nothing has changed"
    assert catalog.describe_placeholder(placed("theirs", "Dropped.")) is False
    assert catalog.describe_placeholder(placed("nowhere", "Dropped.")) is False
    assert catalog.find([("fs_path", "file:///data/nowhere")]) == {}


def test_placeholders_are_distinguished_from_other_assets_and_have_their_users(catalog: Catalog) -> None:
    guids = catalog.create_assets([placed("ours"), placed("lonely", "Dropped."), placed("theirs", mark="A scan's.")])
    written_processes = catalog.write_processes([process(["ours", "theirs"], ["lonely"])], guids)
    keys = [*guids, ("fs_path", "file:///data/nowhere")]
    process_guids = frozenset(written_processes.values())
    own_key, lonely = (("fs_path", f"file:///data/{name}") for name in ("ours", "lonely"))
    assert catalog.placeholders(keys) == {
        own_key: Placeholder(guid=guids[own_key], links=process_guids),
        lonely: Placeholder(guid=guids[lonely], links=process_guids),
    }
    catalog.remove(list(process_guids))
    assert {placeholder.links for placeholder in catalog.placeholders(keys).values()} == {frozenset()}
    assert catalog.placeholders([]) == {}


def test_removed_entities_are_gone_and_removing_them_again_changes_nothing(catalog: Catalog) -> None:
    guids = catalog.create_assets([placed("a"), placed("b"), placed("c")])
    catalog.write_processes([process(["a"], ["b"])], guids)
    held_guids = catalog.find([(PROCESS_TYPE, "throughline:test/b")])
    doomed_guids = [*held_guids.values(), guids["fs_path", "file:///data/a"]]
    for _ in range(2):
        catalog.remove(doomed_guids)
        assert process_in(catalog, "throughline:test/b") is None
        assert sorted(catalog.find(guids)) == [("fs_path", "file:///data/b"), ("fs_path", "file:///data/c")]
    catalog.remove([])
    second_guids = catalog.create_assets([placed("a")])
    assert catalog.find(second_guids) == second_guids, "what was removed may come again"


def test_a_process_is_written_read_back_and_overwritten_whole(catalog: Catalog) -> None:
    guids = catalog.create_assets([asset(name) for name in "abc"])
    first = process("ab", "c", '[{"x": 1}]')
    written_guids = catalog.write_processes([first], guids)
    assert process_in(catalog, first.qualified_name) == first
    second_process = process("a", "c")
    assert catalog.write_processes([second_process], guids).keys() == written_guids.keys()
    held_process_entity = process_in(catalog, first.qualified_name)
    assert held_process_entity == second_process, "an input that was left out is gone"
    catalog.write_processes([first], guids)
    assert process_in(catalog, first.qualified_name) == first, "and back once it is named again"


def test_a_process_that_loses_no_input_or_output_keeps_its_guid(catalog: Catalog) -> None:
    guids = catalog.create_assets([asset(name) for name in "abc"])
    written_guids = catalog.write_processes([process("a", "c")], guids)
    for changed_process in (process("a", "c", "[1]"), process("ab", "c", "[1]"), process("ab", "c", "[1]")):
        assert catalog.write_processes([changed_process], guids) == written_guids


def test_an_input_removed_from_a_process_leaves_its_lineage_and_can_return(catalog: Catalog) -> None:
    """Read back as people see it, from both sides: with the same text each time, so that edges alone differ."""
    guids = catalog.create_assets([asset(name) for name in "abcd"])

    for inputs in ("ab", "a", "ab", "b", "a", "abd", "ab", "d", "ab"):
        written_guids = catalog.write_processes([process(inputs, "c")], guids)
        (held_process,) = catalog.read_processes(["throughline:test/c"]).values()
        assert (held_process.guid, held_process.entity) == (written_guids["throughline:test/c"], process(inputs, "c"))
        links = {key[1][-1]: ends for key, ends in catalog.process_links(guids).items()}
        guid = frozenset(written_guids.values())
        assert [name for name in "abcd" if links[name].readers == guid] == list(inputs)
        assert [name for name in "abcd" if links[name].writers == guid] == ["c"]


class Failing(SteadyAtlasClient):
    """Refuses every upload from the third on."""

    uploads = 0

    def _call(self, method: str, url: str, *arguments: Any, **named: Any) -> Any:
        self.uploads += method == "POST" and url.endswith("/entity/bulk")
        if self.uploads > 2:
            raise CatalogRefused(status=400, code="", detail="enough")
        return super()._call(method, url, *arguments, **named)


@pytest.mark.catalogs("soft")
def test_a_write_that_fails_after_deleting_a_process_raises_catalog_unavailable(v2: V2) -> None:
    """The caller must not use the earlier entity: it was removed."""
    guids = over(v2).create_assets([asset(name) for name in "abc"])
    catalog = AtlasCatalog(Failing(v2.endpoint, BasicAuthentication(v2.user, v2.password)))
    catalog.write_processes([process("ab", "c")], guids)
    with pytest.raises(CatalogUnavailable, match="deleted to be made again") as error_info:
        catalog.write_processes([process("a", "c")], guids)
    assert not error_info.value.over
    assert over(v2).write_processes([process("a", "c")], guids)
    assert process_in(over(v2), "throughline:test/c") == process("a", "c")


class Counting(SteadyAtlasClient):
    """Counts its calls."""

    made = 0

    def _call(self, *arguments: Any, **named: Any) -> Any:
        self.made += 1
        return super()._call(*arguments, **named)


@pytest.mark.parametrize("own_columns", [False, True])
def test_a_write_takes_no_more_calls_than_estimated(v2: V2, *, own_columns: bool) -> None:
    client = Counting(v2.endpoint, BasicAuthentication(v2.user, v2.password))
    catalog = AtlasCatalog(client, own_columns=own_columns)
    guids = catalog.create_assets([asset(name) for name in "abc"])
    many = [f"x{number}>y{number}" for number in range(60)]
    longest = 0.0
    for inputs, columns in (("ab", many), ("ab", many), ("a", many[:1]), ("b", []), ("ab", many[30:])):
        wanted_process_entities = [process(inputs, "c", json.dumps([pairs(inputs[0], *columns)]))]
        calls_before, expected = client.made, catalog.calls_to_write(wanted_process_entities)
        catalog.write_processes(wanted_process_entities, guids)
        assert client.made - calls_before <= expected
        longest = max(longest, (client.made - calls_before) / expected)
    assert longest >= 0.5, "and the estimate is not far above"


class Gateway(Counting):
    """Refuses long addresses."""

    def _call(self, method: str, url: str, params: Any = None, json: Any = None) -> Any:
        address = requests.Request(method, url, params=params).prepare().url or ""
        if len(address) >= 8192:
            raise CatalogRefused(status=414, code="", detail=f"{method} of {len(address)} characters")
        return super()._call(method, url, params, json)


@pytest.mark.catalogs("local")  # a real one takes minutes for so many
@pytest.mark.parametrize("number", [1, 100, 250])
def test_an_address_stays_short_however_many_entities_it_names(v2: V2, number: int) -> None:
    client = Gateway(v2.endpoint, BasicAuthentication(v2.user, v2.password))
    catalog = AtlasCatalog(client)
    names = [f"s{index}" for index in range(number)]
    guids = catalog.create_assets([asset(name) for name in ("a", "b", *names)])
    for inputs in ("ab", "a"):
        processes = [process(inputs, [name]) for name in names]
        calls_before, expected = client.made, catalog.calls_to_write(processes)
        assert len(catalog.write_processes(processes, guids)) == number
        assert client.made - calls_before <= expected
    links = catalog.process_links([("fs_path", "file:///data/a")])["fs_path", "file:///data/a"]
    assert len(links.readers) == len(catalog.process_names(links.readers)) == number
    catalog.remove([*links.readers, *guids.values()])
    assert catalog.find(guids) == {}


@pytest.mark.catalogs("local")
@pytest.mark.parametrize("number", [1, 51, 500])
def test_an_update_of_columns_takes_no_more_calls_than_estimated(v2: V2, number: int) -> None:
    client = Gateway(v2.endpoint, BasicAuthentication(v2.user, v2.password))
    catalog = AtlasCatalog(client)
    asset_entity_before, asset_entity_after = (
        replace(placed("wide"), columns=tuple((f"{letter}{index}", "int") for index in range(number)))
        for letter in "xy"
    )
    catalog.create_assets([asset_entity_before])
    calls_before = client.made
    assert catalog.describe_placeholder(asset_entity_after)
    assert client.made - calls_before <= calls_to_describe(number)
    assert not catalog.describe_placeholder(asset_entity_after)


@pytest.mark.catalogs("local")  # a real one takes minutes for so many
def test_the_removal_of_many_columns_continues_with_the_next_write(v2: V2) -> None:
    catalog = over(v2, own_columns=True)
    guids = catalog.create_assets([asset(name) for name in "ac"])
    many = [f"x{number}>y{number}" for number in range(220)]
    catalog.write_processes([process("a", "c", json.dumps([pairs("a", *many)]))], guids)
    few = [process("a", "c", json.dumps([pairs("a", "x0>y0")]))]
    with pytest.raises(CatalogUnavailable, match="it goes on"):
        catalog.write_processes(few, guids)
    catalog.write_processes(few, guids)
    assert seen(v2, "c", "y219", "INPUT") == []
    assert seen(v2, "c", "y0", "INPUT") == ["a.x0>c.y0", "c.y0>c.y0"]


def test_many_processes_are_written_together(catalog: Catalog) -> None:
    names = [f"s{number}" for number in range(60)]
    guids = catalog.create_assets([asset(name) for name in (*names, "t")])
    processes = [
        ProcessEntity(
            type=PROCESS_TYPE,
            qualified_name=f"throughline:test/{name}",
            attributes=(("name", name), ("description", ""), ("columnMapping", "[]")),
            inputs=(("fs_path", f"file:///data/{name}"),),
            outputs=(("fs_path", "file:///data/t"),),
        )
        for name in names
    ]
    assert len(set(catalog.write_processes(processes, guids).values())) == 60


def test_a_process_on_missing_assets_is_refused_and_not_written(catalog: Catalog) -> None:
    wanted_process_entity = process("a", "b")
    nowhere = dict.fromkeys(
        (*wanted_process_entity.inputs, *wanted_process_entity.outputs), "00000000-0000-0000-0000-000000000000"
    )
    with pytest.raises(CatalogRefused) as error_info:
        catalog.write_processes([wanted_process_entity], nowhere)
    assert error_info.value.code == "ATLAS-404-00-00A"
    assert process_in(catalog, wanted_process_entity.qualified_name) is None


def test_a_process_on_a_missing_asset_prevents_all_writes_of_its_call(catalog: Catalog) -> None:
    guids = catalog.create_assets([asset(name) for name in "abc"])
    nowhere = {**guids, ("fs_path", "file:///data/x"): "00000000-0000-0000-0000-000000000000"}
    with pytest.raises(CatalogRefused):
        catalog.write_processes([process("a", "b"), process("x", "c"), process("b", "a")], nowhere)
    assert catalog.read_processes(f"throughline:test/{name}" for name in "abc") == {}


def test_long_names_with_special_characters_are_read_back_unchanged(catalog: Catalog) -> None:
    strange = "ü/Ž [dbo].[t] 100% a&b=c?d#e+f 'g' \"h\" \\i {j} 日本"
    long = strange + "x" * (4096 - len(strange.encode()) - len("file:///data/"))
    guids = catalog.create_assets([asset(strange), asset(long)])
    assert catalog.find(guids) == guids
    mapping = '[{"x": "' + "ü" * 16000 + '"}]'
    written_process_entity = replace(process([strange], [long], mapping), qualified_name=f"throughline:test/{strange}")
    catalog.write_processes([written_process_entity], guids)
    assert process_in(catalog, written_process_entity.qualified_name) == written_process_entity


def test_concurrent_writers_on_one_data_set_lose_no_process(catalog: Catalog) -> None:
    """Each with its own processes. Atlas answers some calls with 500, and they are repeated."""
    guids = catalog.create_assets([asset(name) for name in ("shared", "s0", "s1", "s2", "s3")])

    def write(number: int) -> None:
        for turn in range(3):
            catalog.write_processes([process(["shared"], [f"s{number}"], str(turn))], guids)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))
    held_processes = catalog.read_processes(f"throughline:test/s{number}" for number in range(4))
    assert [held_process.entity for held_process in held_processes.values()] == [
        process(["shared"], [f"s{n}"], "2") for n in range(4)
    ]


def test_a_deleted_process_is_gone_and_deleting_it_again_changes_nothing(catalog: Catalog) -> None:
    guids = catalog.create_assets([asset("a"), asset("b")])
    catalog.write_processes([process("a", "b")], guids)
    for _ in range(2):
        catalog.delete_process("throughline:test/b")
    assert process_in(catalog, "throughline:test/b") is None
    assert catalog.find(guids) == guids, "its assets stay"


def test_many_processes_are_read_back_with_their_guids(catalog: Catalog) -> None:
    names = [f"{number:03}{'x' * 400}" for number in range(40)]
    guids = catalog.create_assets([asset(name) for name in (*names, "t")])
    written_process_entities = [replace(process("t", "t"), qualified_name=f"throughline:test/{name}") for name in names]
    assigned = catalog.write_processes(written_process_entities, guids)
    held_processes = catalog.read_processes(
        [*(process_entity.qualified_name for process_entity in written_process_entities), "throughline:test/nobody"]
    )
    assert {name: held_process.guid for name, held_process in held_processes.items()} == assigned
    assert [
        held_processes[process_entity.qualified_name].entity for process_entity in written_process_entities
    ] == written_process_entities
    assert catalog.read_processes(["throughline:test/nobody"]) == {}
    assert catalog.read_processes([]) == {}


def test_our_entities_are_distinguished_from_those_of_others(catalog: Catalog) -> None:
    many = [placed(f"{number}") for number in range(103)]
    guids = catalog.create_assets([*many, placed("theirs", mark="Found by a scan.")])
    own_process, other = process("1", "2"), replace(process("1", "3"), qualified_name="adf://pipeline/copy")
    catalog.write_processes([own_process, other], guids)
    assert soon(lambda: len(list(catalog.ours())), 104) == 104
    nodes = list(catalog.ours())
    assert [node.qualified_name for node in nodes if node.is_process] == [own_process.qualified_name]
    assets = [node for node in nodes if not node.is_process]
    assert sorted(node.qualified_name for node in assets) == sorted(
        asset_entity.qualified_name for asset_entity in many
    )
    assert {node.key: node.guid for node in assets} == {
        key: guid for key, guid in guids.items() if "theirs" not in key[1]
    }


def test_a_placeholder_is_removed_once_no_process_uses_it(catalog: Catalog) -> None:
    guids = catalog.create_assets([placed("ours"), placed("theirs", mark="Found by a scan."), placed("other")])
    catalog.write_processes([process(["ours"], ["other"])], guids)
    own_key, foreign_key = ("fs_path", "file:///data/ours"), ("fs_path", "file:///data/theirs")
    assert catalog.placeholders([own_key])[own_key].links, "a process reads it"
    catalog.delete_process("throughline:test/other")
    assert not catalog.placeholders([own_key])[own_key].links
    catalog.remove([catalog.placeholders([own_key, foreign_key])[own_key].guid])
    assert catalog.placeholders([own_key, foreign_key]) == {}, "one is not there, the other was found by a scan"
    assert catalog.find([own_key, foreign_key]) == {foreign_key: guids[foreign_key]}


def test_search_finds_by_a_part_of_the_name(catalog: Catalog) -> None:
    catalog.create_assets([asset("customer"), asset("customer_master"), asset("address")])
    expected_names = ["customer", "customer_master"]
    assert soon(lambda: sorted(node.name for node in catalog.search("customer")), expected_names) == expected_names
    assert catalog.search("nobody") == ()


def test_the_processes_of_an_asset_have_our_names(catalog: Catalog) -> None:
    guids = catalog.create_assets([asset(name) for name in "abcd"])
    written: dict[str, str] = {}
    for source, sink in ("ab", "bc", "cd"):
        written |= catalog.write_processes([process(source, sink)], guids)
    links = catalog.process_links([("fs_path", "file:///data/b")])["fs_path", "file:///data/b"]
    assert catalog.process_names(links.writers) == {"throughline:test/b"}
    assert catalog.process_names(links.readers) == {"throughline:test/c"}
    catalog.remove([written["throughline:test/c"]])
    assert catalog.process_names([*written.values(), *guids.values()]) == {"throughline:test/b", "throughline:test/d"}


def test_an_unknown_type_is_refused_with_the_catalogs_own_message(v2: V2) -> None:
    with pytest.raises(CatalogRefused) as error_info:
        over(v2).create_assets([AssetEntity(type="nothing", qualified_name="x", attributes=(("name", "x"),))])
    assert (error_info.value.status, error_info.value.code) == (400, "ATLAS-400-00-014")


def test_a_wrong_password_is_refused_and_not_shown(v2: V2) -> None:
    with pytest.raises(CatalogRefused) as error_info:
        over(replace(v2, password="geheim")).find([("fs_path", "x")])  # noqa: S106 - a wrong one
    assert error_info.value.status == 401
    assert "geheim" not in str(error_info.value)


def test_a_wrong_token_is_refused_and_not_shown(fresh_catalog: CatalogServer) -> None:
    client = SteadyAtlasClient(fresh_catalog.endpoint, StaticToken("geheim"))
    with pytest.raises(CatalogRefused) as error_info:
        AtlasCatalog(client).find([("fs_path", "x")])
    assert error_info.value.status == 401
    assert "geheim" not in str(error_info.value)


def test_an_unavailable_catalog_raises_its_error() -> None:
    retry_policy = RetryPolicy(tries=2, connect=0.5, max_pause=0.01)
    client = SteadyAtlasClient("http://127.0.0.1:9/api/atlas/v2", StaticToken("t"), retry_policy=retry_policy)
    with pytest.raises(CatalogUnavailable):
        AtlasCatalog(client).find([("fs_path", "x")])


def pairs(source: str, *columns: str) -> dict[str, Any]:
    """A mapping into `c`, of pairs like `a>b`."""
    return {
        "DatasetMapping": {"Source": f"file:///data/{source}", "Sink": "file:///data/c"},
        "ColumnMapping": [dict(zip(("Source", "Sink"), column.split(">"), strict=True)) for column in columns],
    }


def seen(server: V2, asset_name: str, column: str, direction: str) -> list[str]:
    """The edges of a column's lineage up to the next columns, without deleted ones: what Atlas' page draws."""
    near, far = ("outputFromProcesses", "inputs") if direction == "INPUT" else ("inputToProcesses", "outputs")

    def linked(path: str, attribute: str) -> list[dict[str, Any]]:
        answer = server.call(f"GET entity/{path}")
        answer.raise_for_status()
        links = answer.json()["entity"]["relationshipAttributes"][attribute]
        return [link for link in links if link["entityStatus"] == link["relationshipStatus"] == "ACTIVE"]

    name = quote(f"{column}@fs_path:file:///data/{asset_name}", safe="")
    here = f"{asset_name}.{column}"
    edges: list[tuple[str, str]] = []
    for step in linked(f"uniqueAttribute/type/{COLUMN_TYPE}?attr:qualifiedName={name}", near):
        ends = [other["displayText"] for other in linked(f"guid/{step['guid']}", far)]
        edges += [(here, step["displayText"]), *((step["displayText"], end) for end in ends)]
    return sorted(">".join(edge if direction == "OUTPUT" else edge[::-1]) for edge in edges)


def test_columns_and_their_lineage_are_written_in_atlas_own_form(v2: V2) -> None:
    catalog = over(v2, own_columns=True)
    guids = catalog.create_assets([asset(name) for name in "abc"])

    def write(*mappings: dict[str, Any]) -> None:
        catalog.write_processes([process("ab", "c", json.dumps(mappings))], guids)

    write(pairs("a", "first>full", "id>id"), pairs("b", "last>full"))
    assert seen(v2, "c", "full", "INPUT") == ["a.first>c.full", "b.last>c.full", "c.full>c.full"]
    assert seen(v2, "a", "id", "OUTPUT") == ["a.id>c.id", "c.id>c.id"]
    write(pairs("a", "first>full", "id>id"), pairs("b", "last>full"))
    assert seen(v2, "a", "id", "OUTPUT") == ["a.id>c.id", "c.id>c.id"], "again is nothing new"
    write(pairs("b", "last>full"))
    assert seen(v2, "c", "full", "INPUT") == ["b.last>c.full", "c.full>c.full"]
    assert seen(v2, "a", "id", "OUTPUT") == [], "a step that is no longer reported is removed"
    catalog.write_processes([process("b", "c", json.dumps([pairs("b", "last>full")]))], guids)
    assert seen(v2, "c", "full", "INPUT") == ["b.last>c.full", "c.full>c.full"], "the process may be made again"
    assert soon(lambda: [node.name for node in catalog.search("data c")], ["c"]) == ["c"], "a column is no asset"
    catalog.delete_process("throughline:test/c")
    assert seen(v2, "c", "full", "INPUT") == [], "steps go with their process"
    catalog.remove([guids["fs_path", "file:///data/b"]])
    column = (COLUMN_TYPE, "last@fs_path:file:///data/b")
    assert catalog.find([column]) == {}, "and columns with their asset"


def test_a_placeholder_with_our_columns_has_no_links_once_its_process_is_deleted(v2: V2) -> None:
    catalog = over(v2, own_columns=True)
    guids = catalog.create_assets([placed("a"), placed("c")])
    catalog.write_processes([process("a", "c", json.dumps([pairs("a", "x>y")]))], guids)
    catalog.delete_process("throughline:test/c")
    assert {placeholder.links for placeholder in catalog.placeholders(guids).values()} == {frozenset()}
