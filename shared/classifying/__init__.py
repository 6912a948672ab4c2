"""Classifications and glossary terms in the catalog: find those to attach and to remove, and record those attached.

Imports governance, the lineage document, columns of entities, and the ports of catalog and storage.
"""
