"""The content of one process: unions of assets, columns and schemas. Imports `translation.job`."""
