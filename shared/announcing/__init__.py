"""Announcing: decide each message about a change of lineage once, store it, and deliver it to its channels.

`shared/watching/`, which is pure, compares lineage and writes the texts. Imports rooms that read the record, and the
ports of storage and telemetry.
"""
