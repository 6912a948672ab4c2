"""Lineage -> Atlas entities. Pure: plain values; `shared.catalog` makes a client's objects of them."""
