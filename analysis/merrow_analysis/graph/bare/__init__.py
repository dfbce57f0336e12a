"""Graphs without meaning: who leads to whom, in what order, and what reaches what."""
