"""Parts of two workflows in one text: what of each is kept, under which names, in which order.

Crossover and moves between files use it.
"""
