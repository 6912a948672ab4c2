"""Access to the catalog, for the server and its clients alike."""

# No secret: it guards a server that only this machine reaches, and is the clients' default.
LOCAL_TOKEN = "local"  # noqa: S105 (see above)
