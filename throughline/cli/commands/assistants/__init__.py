"""Lineage for assistants: the questions of the HTTP API as tools of the Model Context Protocol, in bounded answers."""
