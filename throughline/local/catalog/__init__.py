"""A catalog for one machine: the part of Atlas' v2 interface that Throughline uses, on SQLite.

`server.CatalogServer` runs it as a child process; `python -m throughline.local.catalog` runs it by itself.
"""
