"""Publish processes: plan, resolve assets, write to the catalog in batches, keep the ledger.

Imports records, events, applications and the catalog port.
"""
