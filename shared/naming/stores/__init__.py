"""One small file for each family of stores; a store is one entry in its table."""
