"""Files of rules: their text with its lines, their tables of keys, and one error that names every mistake in a file.

The room knows no rule. The files of governance, the watch, completeness and names are tables of `keys` here, which
`reading` reads. It imports only `shared.errors`.
"""
