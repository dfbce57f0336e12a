"""Finds where in a file something is named or set."""
