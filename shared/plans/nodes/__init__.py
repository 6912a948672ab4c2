"""The nodes of a plan's document: plans as they stand in it, and of expressions the flow of columns, and their text.

Imports `openlineage` only.
"""
