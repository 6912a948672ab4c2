"""Watching: the changes between two states of lineage, what they affect, and the messages about them. Pure.

A state is a snapshot: a document of lineage without its times, with broken gates and overdue jobs. The room imports
only `shared.lineage` and `shared.rules_file`. `shared/announcing/` stores states and messages, and delivers.
"""
