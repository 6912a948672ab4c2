"""Lineage at an address: the page, Marquez' read API and an API of our own, all from one document at a time.

The room reads published documents through the storage port, and writes nothing. `throughline view` serves the same
answers from a document in memory. Imports the lineage room and the ports of storage and telemetry.
"""
