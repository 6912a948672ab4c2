"""Announcing: decide each message about a change of lineage once, keep it, and deliver it to its channels.

What changed and what a message says is decided by `shared/watching/`, which is pure. Imports what reads the record, and
the ports of storage and telemetry.
"""
