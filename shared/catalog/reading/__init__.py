"""Answers of Atlas v2 and of Purview's search, read into values of the port."""
