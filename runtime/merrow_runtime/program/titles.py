"""What people call a node."""

from __future__ import annotations

from merrow_analysis.graph.instructions import role_of
from merrow_analysis.graph.nodes import TypedNode


def title_of(node: TypedNode) -> str:
    """What people call a node: its role, else its text where no operator is written, else its operator, else its id."""
    role = role_of(node) if node.spec is not None else None
    if role is None and node.resolution.title is not None:
        return node.resolution.title
    return role[1] if role is not None else node.id if node.spec is None else node.spec.name
