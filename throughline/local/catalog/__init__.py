"""A catalog for one machine: the part of Atlas' v2 interface that Throughline uses, in memory and in an SQLite file.

`server.CatalogServer` runs it as a child process; `python -m throughline.local.catalog` runs it by itself.
"""

# No secret: it guards a server that only this machine reaches, and is the clients' default. Here, so that the server
# does not load its clients' libraries.
LOCAL_TOKEN = "local"  # noqa: S105 (see above)
