"""Code actions that make operators of the selected steps, or give a step one that is declared. Loaded when first needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from merrow_analysis.ide.cursor.selection import selection
from merrow_analysis.text import Range
from merrow_optimizer.mutations.base import Move
from merrow_optimizer.mutations.original import Original, why_unchangeable
from merrow_optimizer.step_operators.rewritings import declarations, uses
from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.offers.mutations import choice_of

NAME_STEP = "refactor.extract.operator"
USE_OPERATOR = "refactor.rewrite.operator"
_MOST_OFFERED = 5
"""Operators that a step is offered: each is tried on the whole file."""


def operator_actions(diagram: OpenDiagram, place: Range, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Move]]:
    """What becomes of the selected steps, by its kind: each leaves a workflow in which nothing is wrong that was not before."""
    nodes = selection(diagram.analysis, place).nodes
    if not nodes or why_unchangeable(diagram.analysis) is not None:
        return
    original, files = Original(diagram.analysis), choice_of(diagram).files
    own = [node for node in nodes if node.kind == "operator"]
    if wanted(NAME_STEP):
        for rewriting in declarations(original, files, own):
            move = rewriting.make(original, files)
            if isinstance(move, Move):
                yield NAME_STEP, move
    if wanted(USE_OPERATOR) and len(nodes) == 1:
        made = (rewriting.make(original, files) for rewriting in uses(original, files, nodes[0]))
        for move in islice((change for change in made if isinstance(change, Move)), _MOST_OFFERED):
            yield USE_OPERATOR, move
