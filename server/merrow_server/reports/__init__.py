"""Checks and runs as plain data, for people and programs."""
