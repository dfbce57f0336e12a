"""What there is to say about validators, and about nodes whose result is validated."""

from __future__ import annotations

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.validators import Validator, names_in, told
from merrow_analysis.graph.instructions import ValidationInstruction, validation_of
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.ide.texts.markup import CodeSpan, Inline, Markup

_MOST_NODES = 12
_IN_THE_END = {
    "fail": "the node fails",
    "refine": "a revision of the workflow is asked for",
    "skip": "the node is skipped",
    "accept": "the best attempt is used, and marked",
}


def validator_text(analysis: Analysis, validator: Validator) -> Markup:
    """A validator: its checks in the order in which they are made, and the nodes that it judges."""
    text = Markup().say("Validator ", CodeSpan(validator.name), "; its checks, in their order:")
    text.items([(CodeSpan(told(check)),) for check in validator.checks])
    nodes = [] if analysis.typed is None else analysis.typed.nodes
    folded = validator.name.strip().casefold()
    names = [node.id for node in nodes if folded in map(str.casefold, names_in(_said(node)))]
    pieces = [piece for name in names[:_MOST_NODES] for piece in (", ", CodeSpan(name))][1:]
    more = ", ..." if len(names) > _MOST_NODES else ""
    return text.say("Nodes: ", *pieces, more) if names else text.say("No node uses it.")


def validation_text(analysis: Analysis, node: TypedNode) -> Markup:
    """How a node's result is validated; nothing for one whose is not."""
    validation = validation_of(node, analysis.settings)
    if validation is None:
        return Markup()
    validators = [analysis.settings.validators[name.casefold()] for name in validation.names]
    lines: list[Inline] = [(CodeSpan(told(check)),) for validator in validators for check in validator.checks]
    return Markup().say("Its result must pass:").items(lines).say(_attempts(node, validation))


def _attempts(node: TypedNode, validation: ValidationInstruction) -> str:
    end = _IN_THE_END[validation.on_invalid]
    if node.kind == "output" and validation.on_invalid in ("fail", "skip"):
        end = "the run fails"
    if validation.attempts == 1:
        return f"If it does not, {end}."
    return f"It has {validation.attempts} attempts; if none passes, {end}."


def _said(node: TypedNode) -> object:
    parameter = node.resolution.parameters.get("validate")
    return None if parameter is None else parameter.value
