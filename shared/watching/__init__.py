"""Watching: what changed between two states of lineage, who is hit, and what a message says. Pure; no I/O.

A state is a snapshot: a document of lineage without its times, broken gates and overdue jobs. Imports only
`shared.lineage` and `shared.rules_file`. `shared/announcing/` stores states and messages, and delivers.
"""
