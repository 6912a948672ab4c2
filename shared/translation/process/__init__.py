"""One process: the identity and names of its job, its origin, and the union of its contents. Pure."""
