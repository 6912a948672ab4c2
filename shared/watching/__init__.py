"""Watching: changes between two snapshots of lineage, the objects downstream, and the texts of messages. Pure; no I/O.

A snapshot is a document of lineage without its times, with broken gates and overdue jobs. Imports only `shared.lineage`
and `shared.rules_file`. `shared/announcing/` stores snapshots and messages, and delivers them.
"""
