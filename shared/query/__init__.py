"""Lineage on record: as the document of lineage, as blobs for the page and the API, and held against the catalog.

Questions about a document are answered by `shared/lineage/questions.py`. Imports the catalog port, publishing, events
and records.
"""
