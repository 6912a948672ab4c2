"""The wire: decoding events, which of them matter, and merging the events of one run. Pure."""
