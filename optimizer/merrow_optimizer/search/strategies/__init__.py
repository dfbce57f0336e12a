"""Strategies: each says which candidate to score next, on which items."""
