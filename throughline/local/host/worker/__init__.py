"""The worker process of the local host, and the host's side of it."""
