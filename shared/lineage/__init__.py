"""Lineage as one document: data sets, columns, processes and edges, with history where there is any.

The document is what the page, the exports, `classify`, `check` and `search` read. It is made from the record
(`shared/query`) or from the lake (`throughline/lake/gold`). The room is pure and imports only the
model.
docs/reference/lineage-document.md describes the JSON.
"""
