"""Classifications and glossary terms in the catalog: which to attach and remove, and the rows of what we attached.

Imports governance, the lineage document, columns of entities, and the ports of catalog and storage.
"""
