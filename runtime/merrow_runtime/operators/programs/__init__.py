"""Operators that write, test or run programs."""
