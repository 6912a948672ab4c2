"""Storage and catalog that fail in every way that they can, and histories that are lived through on them."""
