"""Connectors: each topic or table of a run with the table or topic that it copies, by their names."""

import pytest

from shared.openlineage.run import MergedDataset, with_copied_sources

COPIES: dict[str, tuple[dict[str, str], list[str]]] = {
    "PostgreSQL to topics": (
        {"cdc.public.orders": "shop.public.orders", "cdc.public.items": "shop.public.items"},
        [],
    ),
    "schemas with tables of one name": (
        {"cdc.public.orders": "shop.public.orders", "cdc.archive.orders": "shop.archive.orders"},
        [],
    ),
    "MySQL to topics": ({"cdc.shop.orders": "shop.orders", "cdc.crm.orders": "crm.orders"}, []),
    "SQL Server to topics": ({"cdc.db.dbo.orders": "db.dbo.orders", "cdc.db.dbo.items": "db.dbo.items"}, []),
    "a prefix with dots": ({"eu.cdc.public.orders": "shop.public.orders", "eu.cdc.public.a": "shop.public.a"}, []),
    "the spelling of a database": ({"cdc.PUBLIC.ORDERS": "SHOP.public.orders", "cdc.PUBLIC.A": "SHOP.public.a"}, []),
    "topics to tables by JDBC": ({"dw.cdc_shop_orders": "cdc.shop.orders", "dw.cdc_shop_items": "cdc.shop.items"}, []),
    "topics to tables of a database": ({"default.orders": "orders", "default.bids": "bids"}, []),
    "topics to folders": ({"orders": "orders", "bids": "bids"}, []),
    "a table whose name ends like another": ({"default.order_items": "order_items", "default.items": "items"}, []),
    "a heartbeat": ({"cdc.public.orders": "shop.public.orders"}, ["__debezium-heartbeat.cdc"]),
    "a routed topic": ({"cdc.public.items": "shop.public.items", "": "shop.public.orders"}, ["all_orders"]),
}
"""By each output the input that it copies; and outputs that may copy any."""


@pytest.mark.parametrize(("copies", "unlike"), COPIES.values(), ids=COPIES)
def test_an_output_has_the_source_that_its_name_says(copies: dict[str, str], unlike: list[str]) -> None:
    inputs = [MergedDataset(namespace="a://", name=name) for name in copies.values()]
    names = [*filter(None, copies), *unlike]
    outputs = with_copied_sources(inputs, [MergedDataset(namespace="b://", name=name) for name in names])
    assert {output.name: output.sources for output in outputs} == {
        name: (("a://", copies[name]),) if name in copies else None for name in names
    }


def test_an_output_of_several_topics_has_them_all() -> None:
    inputs = [MergedDataset(namespace="a://", name=name) for name in ("eu.shop.orders", "us.shop.orders", "us.shop.a")]
    (output,) = with_copied_sources(inputs, [MergedDataset(namespace="b://", name="dw.orders")])
    assert output.sources == (("a://", "eu.shop.orders"), ("a://", "us.shop.orders"))


def test_sources_that_the_events_name_stay() -> None:
    output = MergedDataset(namespace="b://", name="orders", sources=())
    assert with_copied_sources([MergedDataset(namespace="a://", name="orders")], [output]) == (output,)
