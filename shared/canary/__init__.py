"""The canary: one real pair of events with names of its own, followed from the receiver to the catalog, and withdrawn.

Knows: what the events are, the hops of their way, how long each took, and what each failure is called. Imports: the
core, storage, catalog and publishing. Its namespace is reserved: `shared.openlineage.selection.CHECKS`.
"""
