"""Rules about lineage, kept in a file: what is tagged, where a tag goes, and what a pipeline must not do.

The room knows the rules file (its tables, its mistakes, its JSON Schema), how tags follow values and stop at masks, and
how policies are checked. It is pure: it reads a document of lineage and gives results. It imports only
`shared.lineage`, `shared.rules_file` and `shared.errors`.
docs/operate/govern.md describes the file.
"""
