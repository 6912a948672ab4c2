"""What Microsoft's Purview-ADB lineage accelerator, or a script, left in a catalog, and what of it can go."""
