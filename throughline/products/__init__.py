"""Data products and contracts in the catalog: assets that exist before their first run, with what was promised."""
