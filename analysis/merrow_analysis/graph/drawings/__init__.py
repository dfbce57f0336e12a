"""Reads drawings without operators, and updates the result after an edit."""
