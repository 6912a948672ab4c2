"""The catalog's HTTP face: paths, verbs and injected failures."""
