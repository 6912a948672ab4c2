"""Rows that have no room of their own: publish queue, ledger, data sets, checkpoints, settings.

Imports storage and the pure core.
"""
