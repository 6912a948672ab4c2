"""A soak test of real processes: the parts of a local world are killed while senders send events."""
