"""The catalog port, and a catalog in memory. Only `shared.bootstrap` imports the Atlas adapter."""
