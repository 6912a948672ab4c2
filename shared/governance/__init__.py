"""Rules about lineage in a file: where a tag begins, how it follows values, and the policies of data sets.

The room knows the rules file (its tables, its mistakes, its JSON Schema), how tags follow values and stop at masks, and
how policies are checked. It is pure: it reads a document of lineage and gives results. It imports
`shared.lineage`, `shared.rules_file` and plain values only. docs/operate/classify.md and docs/operate/check.md describe
the file.
"""
