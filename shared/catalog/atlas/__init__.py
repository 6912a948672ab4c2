"""The catalog port on Atlas v2, which Purview, Apache Atlas and the local catalog speak."""
