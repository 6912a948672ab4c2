"""File stores: a data set is a path."""
