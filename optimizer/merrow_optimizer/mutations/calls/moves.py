"""All moves between files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from merrow_analysis.graph.nodes import TypedNode
from merrow_optimizer.mutations.calls.extract import extractions
from merrow_optimizer.mutations.calls.file_set import Files
from merrow_optimizer.mutations.calls.inline import inlinings
from merrow_optimizer.mutations.calls.rewriting import Rewriting
from merrow_optimizer.mutations.original import Original


def rewritings(original: Original, files: Files, nodes: Sequence[TypedNode] | None = None) -> Iterator[Rewriting]:
    """What can be inlined and extracted, of the workflow or of some nodes; safe or not, but never at first sight unsafe."""
    yield from inlinings(original, files, nodes)
    yield from extractions(original, files, nodes)
