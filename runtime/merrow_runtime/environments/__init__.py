"""Worlds that workflows act in: what an environment is, those that are shipped, and the episodes of runs."""
