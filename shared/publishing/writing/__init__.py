"""Writes to the catalog: calls, their bisection, retries, and the ledger. Imports planning and placeholders."""
