"""Receive events over HTTP: check, select, store, answer. Imports storage, storage_layout and the wire format."""
