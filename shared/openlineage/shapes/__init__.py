"""Shapes of the wire that stand by themselves: size limits, the base of all types, and facets that people declare."""
