"""Which job wrote: its stable identity, its origin and its names. Pure."""
