"""Classifications in the catalog: which are to be attached and taken away, and the rows that say which are ours.

Imports governance, the lineage document, columns of entities, and the ports of catalog and storage.
"""
