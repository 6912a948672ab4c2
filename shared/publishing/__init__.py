"""Publish processes: plan, resolve assets, write to the catalog in batches, keep the ledger.

Imports records, events and the catalog port.
"""
