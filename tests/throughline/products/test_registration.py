"""`throughline product apply`: promised assets before their first run, and what runs, scans and people make of them."""

import copy
import json
from pathlib import Path
from typing import Any

from shared.atlas.columns import column_name, column_rule
from shared.atlas.entities import AssetEntity
from shared.classifying.attached import AttachedKind, Mark, attached, note_attached
from tests.support.building import body, dataset, packed
from tests.support.cli import Parts
from tests.support.memory_catalog import MemoryTerms
from tests.support.placeholder_columns import FOLDER, copy_run, schema
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish

CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: orders-contract
name: orders
version: 1.2.0
status: active
team: {name: sales, members: [{username: "team:sales", role: Owner}, {username: eve, role: owner, dateOut: 2026-01-01}]}
servers: [{server: lake, type: azure, location: "abfss://raw@acct.dfs.core.windows.net/{model}"}]
schema:
  - name: orders
    description: One row for each order.
    customProperties: [{property: throughlineTerms, value: Order}]
    properties:
      - name: x
        logicalType: string
        customProperties: [{property: throughlineTerms, value: ["Key@Glossary"]}]
      - {name: y, physicalType: "decimal(10,2)"}
slaProperties:
  - {property: latency, value: 90000, unit: d}
"""
NAME = FOLDER[1]
OTHER = "https://acct.dfs.core.windows.net/raw/returns"
Y = ("y", "decimal(10,2)")
X = ("x", "string")


def contract(tmp_path: Path, text: str = CONTRACT, name: str = "orders.odcs.yaml") -> str:
    (tmp_path / name).write_text(text)
    return str(tmp_path / name)


def run(parts: Parts, *events: bytes) -> None:
    for place in post(parts.storage, *events):
        deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, parts.worker.publishing)


def shown(parts: Parts, name: str = NAME) -> dict[str, str]:
    """What the catalog shows of the promised asset."""
    (asset,) = [asset for asset in parts.catalog.assets.values() if asset.qualified_name == name]
    return {**dict(asset.attributes), **dict(asset.properties or ())}


def applied(parts: Parts, *arguments: str, code: int = 0) -> str:
    result = parts.run("product", "apply", *arguments)
    assert result.exit_code == code, result.output
    return result.output


def kept(parts: Parts) -> tuple[Any, ...]:
    """All that a second apply may not change."""
    terms = parts.worker.terms
    assert isinstance(terms, MemoryTerms)
    tables = {name: rows for name, rows in parts.storage._tables.items() if name != "publishqueue"}  # who was last
    return parts.catalog.writes, terms.writes, copy.deepcopy(tables)


def test_the_asset_is_there_before_the_first_run_and_a_second_apply_writes_nothing(tmp_path: Path) -> None:
    parts, file = Parts(), contract(tmp_path)
    planned = applied(parts, file, "--plan", code=3)
    assert f"+ PENDING {NAME}" in planned
    assert "1 asset to be created, 0 to be changed, 0 to be withdrawn" in planned
    assert "2 terms to be created: Key@Glossary, Order@Glossary" in planned
    assert parts.catalog.assets == {}, "a plan writes nothing"
    assert "1 asset created" in applied(parts, file)
    (asset,) = parts.catalog.assets.values()
    assert (asset.key, asset.columns) == (FOLDER, (X, Y))
    description = shown(parts)["description"]
    assert description.endswith(
        "Promised by orders 1.2.0: PENDING. One row for each order. Owner, as the contract says: team:sales."
    )
    assert {name: shown(parts)[name] for name in ("owner", "promise", "contract")} == {
        "owner": "team:sales",
        "promise": "PENDING",
        "contract": "orders 1.2.0",
    }
    column = (column_rule(FOLDER[0]).type, column_name(*FOLDER, "x"))
    assert parts.worker.terms
    classified = parts.worker.terms.classified([FOLDER, column])
    assert [classified[key].names for key in (FOLDER, column)] == [{"Order@Glossary"}, {"Key@Glossary"}]
    state = kept(parts)
    assert "0 assets created, 0 changed, 0 withdrawn" in applied(parts, file)
    assert kept(parts) == state
    applied(parts, file, "--plan")


def test_a_run_lands_on_the_same_asset_and_makes_it_active(tmp_path: Path) -> None:
    parts, file = Parts(), contract(tmp_path)
    applied(parts, file)
    guid = parts.catalog.find([FOLDER])[FOLDER]
    run(parts, copy_run("1", (X,), (X, Y)))
    assert parts.catalog.find([FOLDER]) == {FOLDER: guid}
    (process,) = parts.catalog.processes.values()
    assert process.outputs == (FOLDER,)
    assert "Promised by orders 1.2.0: ACTIVE." in shown(parts)["description"]
    assert shown(parts)["promise"] == "ACTIVE"
    assert shown(parts)["owner"] == "team:sales"
    state = kept(parts)
    assert f"= ACTIVE {NAME}" in applied(parts, file)
    assert kept(parts) == state


def test_a_run_that_failed_leaves_it_pending(tmp_path: Path) -> None:
    parts, file = Parts(), contract(tmp_path)
    applied(parts, file)
    event = json.loads(copy_run("1", (X,), (X, Y)))
    run(parts, packed({**event, "eventType": "FAIL"}))
    assert parts.catalog.processes == {}
    assert shown(parts)["promise"] == "PENDING"


def test_a_run_without_lineage_makes_it_active_too(tmp_path: Path) -> None:
    """A job that reads nothing gives no process; its output was written all the same."""
    parts, file = Parts(), contract(tmp_path)
    applied(parts, file)
    output_facets = {"lifecycleStateChange": {"lifecycleStateChange": "OVERWRITE"}, "schema": schema(X, Y)}
    run(parts, packed(body(outputs=[dataset("orders", "abfss://raw@acct.dfs.core.windows.net", **output_facets)])))
    assert parts.catalog.processes == {}
    assert shown(parts)["promise"] == "ACTIVE"


def test_a_run_that_breaks_the_promise_makes_it_degraded_until_one_keeps_it(tmp_path: Path) -> None:
    parts, file = Parts(), contract(tmp_path)
    applied(parts, file)
    run(parts, copy_run("1", (X,), (X,)))
    assert "Promised by orders 1.2.0: DEGRADED (columns)." in shown(parts)["description"]
    assert shown(parts)["promise"] == "DEGRADED"
    run(parts, copy_run("2", (X,), (X, Y), minute=5))
    assert shown(parts)["promise"] == "ACTIVE"


def test_apply_judges_every_promise_again(tmp_path: Path) -> None:
    """The events are of a day long ago, so a latency is broken; without that promise all hold."""
    parts, file = Parts(), contract(tmp_path, CONTRACT.replace("90000", "1"))
    run(parts, copy_run("1", (X,), (X, Y)))
    assert f"~ DEGRADED {NAME} (fresh_within latency 1 d)" in applied(parts, file)
    assert shown(parts)["promise"] == "DEGRADED"
    assert f"~ ACTIVE {NAME}" in applied(parts, contract(tmp_path))
    assert shown(parts)["promise"] == "ACTIVE"


def test_nothing_that_cleans_up_takes_a_promised_asset(tmp_path: Path) -> None:
    parts, file = Parts(), contract(tmp_path, CONTRACT.replace("throughlineTerms", "other"))
    applied(parts, file)
    assert "0 placeholders that nothing will use" in parts.run("retire", "--plan").output
    assert parts.run("verify").exit_code == 0
    assert "0 placeholders removed" in parts.run("reconcile").output
    assert parts.catalog.find([FOLDER])
    assert parts.run("purge", "--yes").exit_code == 0
    assert parts.catalog.assets == {}, "purge removes all that Throughline created"
    assert "1 asset created" in applied(parts, file)


def test_a_later_scan_takes_it_over(tmp_path: Path) -> None:
    parts, file = Parts(), contract(tmp_path, CONTRACT.replace("throughlineTerms", "other"))
    applied(parts, file)
    run(parts, copy_run("1", (X,), (X, Y)))
    scanned = AssetEntity(
        type=FOLDER[0], qualified_name=f"{NAME}/", attributes=(("name", "orders"), ("description", "Found by a scan."))
    )
    parts.catalog.create_assets([scanned])
    assert "1 placeholder removed" in parts.run("reconcile").output
    (process,) = parts.catalog.processes.values()
    assert process.outputs == (scanned.key,)
    assert [key for key in parts.catalog.assets if key[1].startswith(NAME)] == [scanned.key]
    output = applied(parts, contract(tmp_path, CONTRACT.replace("90000", "1")))
    assert "found by a scan: its columns, owner and description are left alone" in " ".join(output.split())
    assert f"= DEGRADED {NAME}/" in output
    assert parts.catalog.assets[scanned.key] == scanned


def test_terms_go_onto_scanned_assets_only_if_asked(tmp_path: Path) -> None:
    parts, file = Parts(), contract(tmp_path)
    parts.catalog.create_assets(
        [AssetEntity(type=FOLDER[0], qualified_name=NAME, attributes=(("name", "o"),), columns=(X,))]
    )
    assert "--onto-scanned includes them" in applied(parts, file)
    assert parts.worker.terms
    assert parts.worker.terms.classified([FOLDER])[FOLDER].names == frozenset()
    applied(parts, file, "--onto-scanned")
    assert parts.worker.terms.classified([FOLDER])[FOLDER].names == {"Order@Glossary"}
    applied(parts, contract(tmp_path, CONTRACT.replace("throughlineTerms", "other")), "--onto-scanned")
    assert parts.worker.terms.classified([FOLDER])[FOLDER].names == frozenset(), (
        "what the contract no longer gives goes"
    )


def test_what_a_contract_promises_no_longer_is_withdrawn(tmp_path: Path) -> None:
    parts = Parts()
    full_contract = contract(tmp_path, CONTRACT.replace("schema:\n", "schema:\n  - {name: returns}\n"))
    applied(parts, full_contract)
    assert {name for _, name in parts.catalog.assets} == {NAME, OTHER}
    run(parts, copy_run("1", (X,), (X, Y)))
    smaller_contract = contract(tmp_path)
    assert f"- {OTHER}" in applied(parts, smaller_contract, "--plan", code=3)
    assert "1 placeholder removed" in applied(parts, smaller_contract)
    assert OTHER not in {name for _, name in parts.catalog.assets}
    renamed = contract(tmp_path, CONTRACT.replace("- name: orders\n", "- name: returns\n"))
    assert f"- {NAME}" in applied(parts, renamed)
    assert "Promised" not in shown(parts)["description"], "a run uses it, so it stays, without a promise"
    assert "promise" not in shown(parts)


def test_a_term_that_a_rules_file_gives_too_stays_when_the_contract_drops_it(tmp_path: Path) -> None:
    parts, terms = Parts(), "customProperties: [{property: throughlineTerms, value: Order}]"
    mark = Mark(kind=AttachedKind.TERM, name="Order@Glossary", type=FOLDER[0], qualified_name=FOLDER[1])
    applied(parts, contract(tmp_path))
    note_attached(parts.storage, [mark], "rules.toml")
    applied(parts, contract(tmp_path, CONTRACT.replace(terms, "tags: []", 1)))
    assert parts.worker.terms
    assert parts.worker.terms.classified([FOLDER])[FOLDER].names == {"Order@Glossary"}
    assert attached(parts.storage)[mark] == {"rules.toml"}


def test_another_contracts_promise_is_left(tmp_path: Path) -> None:
    parts = Parts()
    applied(parts, contract(tmp_path))
    other = contract(tmp_path, CONTRACT.replace("orders-contract", "another"), "other.yaml")
    assert "1 asset promised by another contract already" in applied(parts, other)
    assert "orders 1.2.0" in shown(parts)["contract"]


def test_shadow_mode_writes_nothing(tmp_path: Path) -> None:
    parts = Parts()
    parts.shadow()
    assert "the catalog stays as it is" in applied(parts, contract(tmp_path))
    assert parts.catalog.assets == {}


def test_the_plan_as_json(tmp_path: Path) -> None:
    plan = json.loads(Parts().run("product", "apply", contract(tmp_path), "--plan", "--json").stdout)
    assert plan["create"] == [{"type": FOLDER[0], "qualified_name": NAME, "status": "PENDING", "broken": []}]
    assert plan["new_terms"] == ["Key@Glossary", "Order@Glossary"]
    assert [mark["term"] for mark in plan["terms_attach"]] == ["Key@Glossary", "Order@Glossary"]
    assert plan["withdraw"] == plan["change"] == plan["terms_detach"] == []
