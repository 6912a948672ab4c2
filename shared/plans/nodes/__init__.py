"""Nodes of a plan's JSON document: relations, and expressions with their column flow and text.

Imports `openlineage` only.
"""
