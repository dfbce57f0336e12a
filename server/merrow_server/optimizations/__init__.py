"""Searches for better workflows: made ready, as plain data, and in words."""
