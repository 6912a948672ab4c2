"""Lineage -> Atlas entities. Pure: plain values, from which `shared.catalog` makes a client's objects."""
