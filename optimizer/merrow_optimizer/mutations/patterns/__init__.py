"""Workflow patterns: fragments with holes that a subgraph mutation puts around a node or in place of a part.

A pattern is a workflow file of its own (see docs/patterns.md): `read_pattern` reads one, `built_in_patterns` has those
that Merrow brings along, `workspace_patterns` those that the user keeps beside the workflows.
"""

from merrow_optimizer.mutations.patterns.library import (
    FOLDER,
    PatternProblem,
    all_patterns,
    built_in_patterns,
    workspace_patterns,
)
from merrow_optimizer.mutations.patterns.reading import (
    Pattern,
    PatternEdge,
    PatternError,
    PatternNode,
    read_pattern,
)

__all__ = [
    "FOLDER",
    "Pattern",
    "PatternEdge",
    "PatternError",
    "PatternNode",
    "PatternProblem",
    "all_patterns",
    "built_in_patterns",
    "read_pattern",
    "workspace_patterns",
]
