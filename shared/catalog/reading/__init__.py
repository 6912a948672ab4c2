"""What answers of Atlas v2 and of Purview's search say, as values of the port."""
