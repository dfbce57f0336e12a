"""Spelling variants of an operator's name written as its table has it, in the whole file."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.operators import OperatorSpec, OperatorTable
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.graph.resolve import Claim
from merrow_analysis.ide.actions.actions import SPELLING, Action, Edits, Request
from merrow_analysis.ide.cursor.lookup import spot, touches
from merrow_analysis.ide.cursor.selection import selected_node
from merrow_analysis.rules.reporting import claim_range
from merrow_analysis.syntax.tree import ClassAssign, ClassDef, Name
from merrow_analysis.text import TextEdit


def rename_variants(request: Request) -> Iterator[Action]:
    """Write one operator in its own spelling wherever the file names it: classes, ``op``, labels."""
    analysis = request.analysis
    spec = _selected_operator(request)
    if spec is None or not _variants(analysis, spec):
        return
    yield Action(f"Write {spec.name} the same way everywhere", SPELLING, lambda: _variants(analysis, spec))


def _selected_operator(request: Request) -> OperatorSpec | None:
    analysis = request.analysis
    here = spot(analysis, request.range.start)
    if here is None or analysis.typed is None:
        return None
    statement = here.statement
    names: tuple[Name, ...] = ()
    if isinstance(statement, ClassAssign):
        names = (statement.class_name,)
    elif isinstance(statement, ClassDef):
        names = statement.names
    for name in names:
        operator = analysis.typed.operators.by_class(name.text)
        if operator is not None and touches(name.span, here.offset):
            return operator.spec
    node = selected_node(analysis, request.range)
    return node.spec if node is not None else None


def _variants(analysis: Analysis, spec: OperatorSpec) -> Edits:
    """The edits of all places that spell the operator otherwise."""
    typed = analysis.typed
    if typed is None:
        return ()
    edits: dict[TextEdit, None] = {}
    for node in typed.nodes:
        if node.spec is not spec:
            continue
        for claim in node.resolution.claims:
            wanted = spec.class_name if claim.place == "class" else spec.name
            if claim.spec is spec and claim.word != wanted and _can_be_written(node, claim, typed.operators):
                edits[TextEdit(claim_range(node.flow, claim), wanted)] = None
    defined = analysis.flow.class_defs
    for name, uses in defined.items():
        operator = typed.operators.by_class(name)
        if operator is None or operator.spec is not spec or name == spec.class_name or spec.class_name in defined:
            continue
        for use in uses:
            edits[TextEdit(use.range, spec.class_name)] = None
    return tuple(sorted(edits))


def _can_be_written(node: TypedNode, claim: Claim, table: OperatorTable) -> bool:
    """Whether the new spelling means the operator to everybody: a label's slip is left to its own quick fix."""
    if claim.place == "label":
        return node.flow.label is not None and table.by_op(claim.word) is not None
    return True
