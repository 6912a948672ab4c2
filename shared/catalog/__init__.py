"""The catalog port, and a catalog in memory. The Atlas adapter is imported by `shared.bootstrap` alone."""
