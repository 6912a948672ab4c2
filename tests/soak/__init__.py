"""Real processes under fire: a local world whose parts are killed while senders send, and what is left of it."""
