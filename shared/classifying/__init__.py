"""Classifications and glossary terms in the catalog: which are to be attached and taken away; the rows of ours.

Imports governance, the lineage document, columns of entities, and the ports of catalog and storage.
"""
