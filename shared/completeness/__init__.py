"""How completely a catalog documents its data sets: parts of documentation, and a score. Pure; imports
only `shared.rules_file`.

`shared/catalog` reads the documentation, `throughline/lake/gold/completeness.py` stores the scores.
"""
