"""The catalog port, and its adapter for Atlas and Purview. Only `shared.bootstrap` imports the adapter."""
