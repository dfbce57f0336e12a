"""Revisions: the graph of a run changes while it goes on, and what still holds is kept."""
