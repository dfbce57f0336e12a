"""Workflow patterns: fragments with placeholders that a subgraph mutation wraps around a node or puts in place of a part.

A pattern is a separate workflow file (see docs/patterns.md): `read_pattern` reads one, `built_in_patterns` has those that
come with Merrow, `workspace_patterns` those that the user keeps beside the workflows.
"""

from merrow_optimizer.mutations.patterns.library import (
    FOLDER,
    PatternProblem,
    all_patterns,
    built_in_patterns,
    workspace_patterns,
)
from merrow_optimizer.mutations.patterns.pattern_file import (
    Pattern,
    PatternEdge,
    PatternFileError,
    PatternNode,
    read_pattern,
)

__all__ = [
    "FOLDER",
    "Pattern",
    "PatternEdge",
    "PatternFileError",
    "PatternNode",
    "PatternProblem",
    "all_patterns",
    "built_in_patterns",
    "read_pattern",
    "workspace_patterns",
]
