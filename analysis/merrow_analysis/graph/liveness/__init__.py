"""Which nodes run for which choices of Decisions."""
