"""A catalog that does all that catalogs do to a publisher."""
