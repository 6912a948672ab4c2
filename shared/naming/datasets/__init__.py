"""Data set identities: one canonical spelling for each data set."""
