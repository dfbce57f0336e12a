"""Combines parts of two workflows in one text: what is kept of each, under which names, in which order.

Crossover and moves between files use it.
"""
