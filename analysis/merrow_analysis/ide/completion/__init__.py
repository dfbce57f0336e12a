"""Completion: what to offer while the user types."""
