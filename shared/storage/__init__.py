"""The storage port, and storage in memory. The Azure adapter is named by `shared.adapters` alone."""
