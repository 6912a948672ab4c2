"""Types of the wire format without dependencies: bounds, the base type, and facets that people declare."""
