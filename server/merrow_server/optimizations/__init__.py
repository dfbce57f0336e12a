"""Searches for better workflows: prepared, and reported as plain data and as text."""
