"""The catalog's HTTP interface, and who may use it."""
