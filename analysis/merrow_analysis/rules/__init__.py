"""What Merrow checks: one registry, one page per rule."""
