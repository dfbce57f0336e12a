"""The menu of code actions at a position."""
