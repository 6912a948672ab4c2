"""The claims of docs/reference/unproven.md as data, and the proofs by which `throughline prove` tries them."""
