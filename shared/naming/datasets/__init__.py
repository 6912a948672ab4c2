"""One spelling and one identity for each data set. Pure."""
