"""One run, from its options to its last event."""
