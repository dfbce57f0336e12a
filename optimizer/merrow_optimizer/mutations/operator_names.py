"""The evolutionary operators by name; without a single import, for those that only need to name them."""

from __future__ import annotations

SUBSTITUTION, ADDITION, REWIRING, DELETION = "substitution", "addition", "rewiring", "deletion"
SUBGRAPH, CROSSOVER = "subgraph", "crossover"

OF_ONE_PARENT = (SUBSTITUTION, ADDITION, REWIRING, DELETION, SUBGRAPH)
"""The operators that change one workflow, in the order in which their moves are enumerated."""

MAX_NODES = 20
"""Nodes to which a mutant may grow, where nothing else is said."""
