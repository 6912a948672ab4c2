"""Data products: their ports name contracts, their inputs are declared ones, and every mistake has its place."""

from pathlib import Path

import pytest

from shared.errors import Misconfigured
from tests.support.cli import Parts
from tests.support.placeholder_columns import copy_run
from tests.throughline.products.test_registration import CONTRACT, NAME, X, Y, applied, contract, run, shown
from throughline.products.reading import Product, parse_promises

PRODUCT = """\
apiVersion: {version}
kind: DataProduct
id: sales-product
status: active
name: Sales
version: 2.0.0
domain: sales
description: {{purpose: Who bought what.}}
tags: [sales]
team: {{members: [{{username: ann, role: Product Owner}}, {{username: bo, role: steward}}]}}
inputPorts:
  - {{name: shop, version: 1.0.0, contractId: shop-contract, tags: [raw]}}
outputPorts:
  - name: orders
    description: Orders
    type: tables
    version: 1.2.0
    contractId: orders-contract
    inputContracts: [{{id: shop-contract, version: 1.0.0}}]
    sbom: [{{type: external, url: "https://example.com/sbom"}}]
managementPorts: [{{content: dictionary, type: topic, name: updates}}]
support: [{{channel: help, url: "https://example.com"}}]
productCreatedTs: 2026-01-15T10:30:00Z
"""
SHOP = """\
apiVersion: v3.1.0
kind: DataContract
id: shop-contract
version: 1.0.0
status: active
servers: [{server: s, type: sqlserver, host: srv.database.windows.net, database: db}]
schema: [{name: orders, physicalName: dbo.orders}]
"""
OWNERLESS = "\n".join(line for line in CONTRACT.splitlines() if not line.startswith("team"))


def files(tmp_path: Path, product: str = PRODUCT.format(version="v1.0.0"), shop: str = SHOP) -> list[str]:
    return [
        contract(tmp_path, product, "product.odps.yaml"),
        contract(tmp_path, OWNERLESS),
        contract(tmp_path, shop, "shop.odcs.yaml"),
    ]


@pytest.mark.parametrize("version", ["v0.9.0", "v1.0.0", "v1.1.0"])
def test_what_the_standard_has_is_read(version: str) -> None:
    product = parse_promises(PRODUCT.format(version=version), "product.yaml")
    assert isinstance(product, Product)
    assert (product.name, product.owner, product.inputs) == ("Sales", "ann", ("shop-contract",))
    (port,) = product.outputs
    assert (port.name, port.contract, port.inputs, port.line) == (
        "orders 1.2.0",
        "orders-contract",
        ("shop-contract",),
        14,
    )


def test_outputs_are_registered_and_inputs_are_not(tmp_path: Path) -> None:
    parts = Parts()
    assert "1 asset created" in applied(parts, *files(tmp_path))
    assert [name for _, name in parts.catalog.assets] == [NAME]
    assert shown(parts)["owner"] == "ann", "of the product, where the contract has none"


def test_inputs_of_a_product_are_declared_inputs_of_its_contracts(tmp_path: Path) -> None:
    parts = Parts()
    run(parts, copy_run("1", (X,), (X, Y)))
    checked = parts.run("contract", "check", *files(tmp_path))
    assert "HOLDS  orders: orders: inputs_declared" in checked.output
    assert "HOLDS  orders: orders: inputs_used" in checked.output
    other = SHOP.replace("physicalName: dbo.orders", "physicalName: dbo.customers")
    broken = parts.run("contract", "check", *files(tmp_path, shop=other))
    assert broken.exit_code == 3
    assert "reads mssql://srv.database.windows.net/db/dbo/orders, which the contract does not name" in broken.output
    assert "no run reads mssql://srv.database.windows.net/db/dbo/customers for" in broken.output
    assert f"~ DEGRADED {NAME} (inputs_declared)" in applied(parts, *files(tmp_path, shop=other), "--plan", code=3)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("contractId: orders-contract", "contractId: none", "product.odps.yaml:14: orders 1.2.0 is promised by the"),
        ("v1.0.0\nkind", "v2.0.0\nkind", "product.odps.yaml:1: this is version 'v2.0.0' of kind 'DataProduct'"),
        ("status: active", "state: active", "product.odps.yaml:4: state: Extra inputs are not permitted"),
        ("version: 1.0.0, contractId: shop-contract,", "", "inputPorts.0.contractId: Field required"),
    ],
)
def test_a_mistake_has_its_place(tmp_path: Path, old: str, new: str, problem: str) -> None:
    output = applied(Parts(), *files(tmp_path, PRODUCT.format(version="v1.0.0").replace(old, new)), code=2)
    assert problem in output


def test_all_mistakes_in_all_files_are_named_at_once(tmp_path: Path) -> None:
    bad = PRODUCT.format(version="v1.0.0").replace("status: active", "").replace("name: Sales", "name: [1]")
    output = applied(Parts(), *files(tmp_path, bad, SHOP.replace("v3.1.0", "v2.0.0")), code=2)
    assert "product.odps.yaml:1: status: Field required" in output
    assert "product.odps.yaml:5: name: Input should be a valid string" in output
    assert "shop.odcs.yaml:1: this is kind 'DataContract', version 'v2.0.0'" in output


def test_what_a_product_does_not_use_is_said(tmp_path: Path) -> None:
    product = PRODUCT.format(version="v1.0.0")
    unlinked_product = product.replace("    contractId: orders-contract\n", "").replace(
        "    inputContracts: [{id: shop-contract, version: 1.0.0}]\n", ""
    )
    paths = files(tmp_path, unlinked_product)
    output = " ".join(applied(Parts(), *paths).split())
    assert "orders 1.2.0 has no contract, so it promises no data set" in output
    assert "orders.odcs.yaml: no port names it" in output
    output = " ".join(applied(Parts(), *files(tmp_path, product)[:2]).split())
    assert "the contracts of its input ports are not among the files: shop-contract" in output


def test_terms_that_are_none_have_their_place() -> None:
    with pytest.raises(Misconfigured) as error:
        parse_promises(
            CONTRACT.replace('["Key@Glossary"]', '["a@b@c", "@d"]').replace("value: Order", "value: ''"), "c.yaml"
        )
    assert [line.partition(": ")[0] for line in str(error.value).splitlines()] == ["c.yaml:16", "c.yaml:16"]
