"""Measures of a graph: its shape, width and longest path."""
