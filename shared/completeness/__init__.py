"""How completely data sets are documented: what a catalog holds of them for people, and a score of it. Pure; imports
only `shared.rules_file`.

`shared/catalog` reads the documentation, `spark_pipeline/gold/completeness.py` stores the scores.
"""
