"""What a suggestion may change: nodes, edges, prompts, `samples`, `temperature`, `memory`. A list of what may differ, so that
whatever it does not know stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.front_matter import FrontMatterDoc
from merrow_analysis.definitions.operators import OperatorSpec
from merrow_analysis.graph.boxes.composites import Composite
from merrow_analysis.graph.measures.call_bounds import count_of
from merrow_analysis.graph.measures.kept_effects import why_not_kept
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.syntax.tree import (
    Chain,
    ClassAssign,
    ClassDef,
    EmptyStatement,
    FrontMatter,
    LinkStyle,
    Style,
    SubgraphEnd,
    SubgraphStart,
)
from merrow_optimizer.suggestions.node_edits import prompt_text

FREE = frozenset({"prompt", "samples", "temperature", "memory"})
"""Parameters that may differ at a node."""
_NEW = FREE | {"op", "role", "returns", "format"}
"""Parameters that a new node may have, beside those that say what it works on."""
OPERATORS = frozenset(
    {
        *("Custom", "AnswerGenerate", "CustomCodeGenerate", "Programmer", "ScEnsemble", "MdEnsemble", "Test", "Review"),
        *("Revise", "Format", "Decision", "Pass", "Select"),
    }
)
"""Built-in operators that a new node may have; others run files, ask people or may come to reach further."""
_OF_OPERATORS: Mapping[str, frozenset[str]] = {
    "Decision": frozenset({"if", "ask"}),
    "Select": frozenset({"by", "keep"}),
}
_OF_BOXES = frozenset({"max", "until"})
MOST_SAMPLES = 16
_DRAWN = (Chain, ClassAssign, ClassDef, EmptyStatement, FrontMatter, LinkStyle, Style, SubgraphEnd, SubgraphStart)
"""Statements whose meaning is compared, or that are layout and style."""


def may_be_new(spec: OperatorSpec | None) -> bool:
    """Whether a new node may have this operator: one of `OPERATORS`, or one that the workflow declares."""
    if spec is None or spec.is_call or spec.is_planned_call:
        return False
    return not spec.built_in or spec.name in OPERATORS


def what_is_forbidden(before: Analysis, after: Analysis) -> list[str]:
    """Each difference of two analysed workflows that may not be, as a sentence; none where all of them are allowed."""
    old, new = before.typed, after.typed
    if old is None or new is None:
        return ["The text is not a workflow."]
    return list(_forbidden(before, after, old, new))


def _forbidden(before: Analysis, after: Analysis, old: TypedGraph, new: TypedGraph) -> Iterator[str]:
    yield from front_matter(before.settings.document, after.settings.document)
    not_kept = why_not_kept(old, new)
    if not_kept is not None:
        yield not_kept
    for name, node in old.by_id.items():
        kept = new.by_id.get(name)
        if node.kind in ("input", "output") and (kept is None or kept.kind != node.kind):
            yield f"{name} is an {node.kind} of the workflow and must stay."
        elif kept is not None:
            yield from _changed(node, kept)
    for name, node in new.by_id.items():
        if name not in old.by_id:
            yield from _added(node)
    yield from _boxes(old, new)
    yield from _rest(before, after)


def front_matter(before: FrontMatterDoc, after: FrontMatterDoc, *, partly: bool = False) -> Iterator[str]:
    """What differs between two front matters beside texts of prompts; with ``partly`` the other one may leave out anything."""
    old, new = _front(before), _front(after)
    for key in sorted(new.keys() if partly else old.keys() | new.keys()):
        if key not in old or key not in new or old[key] != new[key]:
            yield f"The front matter's `{key}` must stay as it is; only texts below `workflow: prompts:` may differ."


def _front(document: FrontMatterDoc) -> dict[str, Any]:
    """The entries of a front matter by name, without texts of prompts."""
    front: dict[str, Any] = {key: repr(value) for key, value in document.values.items() if key != "workflow"}
    block = document.values.get("workflow")
    if not isinstance(block, dict):
        # `workflow: true` says no more than a block with nothing but prompts.
        return front if block in (None, True) else {**front, "workflow": repr(block)}
    for key, value in block.items():
        if key != "prompts":
            front[f"workflow.{key}"] = repr(value)
        elif not isinstance(value, dict):
            front["workflow.prompts"] = repr(value)
        else:
            front.update({f"workflow.prompts.{name}": _shape(text) for name, text in value.items() if _shape(text)})
    return front


def _shape(prompt: object) -> str:
    """What a prompt is beside its text; empty for a mere text."""
    if isinstance(prompt, str):
        return ""
    if not isinstance(prompt, dict):
        return repr(prompt)
    return repr({key: value if key != "text" else isinstance(value, str) for key, value in prompt.items()})


def _changed(node: TypedNode, kept: TypedNode) -> Iterator[str]:
    old, new = _values(node), _values(kept)
    if node.kind in ("input", "output"):
        if (old, node.resolution.declared) != (new, kept.resolution.declared):
            yield f"{node.id} is an {node.kind} of the workflow and must stay as it is."
        return
    if node.operator != kept.operator:
        if not may_be_new(kept.spec):
            yield f"{node.id} may not become a {kept.operator or 'node without an operator'}."
        for key in sorted(new.keys() - old.keys() - _allowed(kept)):
            yield f"{node.id} may not get `{key}`."
        shared = old.keys() & new.keys()
        gone = {key for key in old.keys() - new.keys() if kept.spec and key in kept.spec.allowed_parameters()}
    else:
        shared, gone = old.keys() | new.keys(), set[str]()
    for key in sorted((shared | gone) - _free(node) - _free(kept)):
        if old.get(key) != new.get(key):
            yield f"`{key}` of {node.id} must stay as it is; only {_listed(FREE)} may differ."
    yield from _bounds(kept)


def _added(node: TypedNode) -> Iterator[str]:
    if node.kind in ("input", "output"):
        yield f"{node.id} would be a new {node.kind}; the workflow's inputs and outputs must stay."
        return
    if not may_be_new(node.spec):
        yield f"{node.id} may not be added: its operator must be one of {', '.join(sorted(OPERATORS))}, or declared here."
    for key in sorted(_values(node).keys() - _allowed(node)):
        yield f"{node.id} may not have `{key}`."
    yield from _bounds(node)


def _bounds(node: TypedNode) -> Iterator[str]:
    samples = node.resolution.parameters.get("samples")
    if samples is not None and isinstance(samples.value, (int, float)) and samples.value > MOST_SAMPLES:
        yield f"`samples` of {node.id} may be {MOST_SAMPLES} at most."


def _values(node: TypedNode) -> dict[str, str]:
    return {key: repr(parameter.value) for key, parameter in node.resolution.parameters.items() if key != "op"}


def _free(node: TypedNode) -> frozenset[str]:
    """Parameters that may differ at a node that stays: those that are or name its prompt, and two more."""
    key = None if node.spec is None else node.spec.instruction_key
    return FREE | ({"role"} if key is None else {"role", key})


def _allowed(node: TypedNode) -> frozenset[str]:
    """Parameters that a node may get."""
    spec = node.spec
    if spec is None:
        return frozenset()
    own = frozenset() if spec.instruction_key is None else frozenset({spec.instruction_key})
    return _NEW | own | spec.literals | _OF_OPERATORS.get(spec.name, frozenset())


def _boxes(old: TypedGraph, new: TypedGraph) -> Iterator[str]:
    before, after = old.composites.boxes, new.composites.boxes
    for name, box in after.items():
        known = before.get(name)
        if known is not None:
            if (known.kind, _parameters(known)) != (box.kind, _parameters(box)):
                yield f"The {box.operator} {name} must stay as it is: how often it runs is a limit."
        elif not box.parameters.keys() <= _OF_BOXES or count_of(box, "max") > _usual(box):
            yield f"A new {box.operator} may only have {_listed(_OF_BOXES)}, with at most {_usual(box)} rounds."


def _usual(box: Composite) -> int:
    return 3 if box.kind == "loop" else 100


def _parameters(box: Composite) -> dict[str, str]:
    return {key: repr(parameter.value) for key, parameter in box.parameters.items()}


def _rest(before: Analysis, after: Analysis) -> Iterator[str]:
    """Comments, directives, links and all other statements that are neither nodes nor edges nor style."""
    old, new = _others(before), _others(after)
    if old - new:
        yield "Comments, links and settings in the text must stay as they are."
    for text in sorted((new - old).elements()):
        yield f"This line may not be added: {' '.join(text.split())[:80]}"


def _others(analysis: Analysis) -> Counter[str]:
    statements: Counter[str] = Counter()
    for block in analysis.diagram.blocks:
        for statement in block.statements:
            if not isinstance(statement, _DRAWN):
                statements[block.text[slice(*statement.span)].strip()] += 1
    return statements


def only_prompt_of(before: Analysis, after: Analysis, name: str) -> list[str]:
    """What two workflows differ in beside the prompt of one node, as sentences."""
    old, new = before.typed, after.typed
    if old is None or new is None:
        return ["The text is not a workflow."]
    sentence = f"Only the prompt of {name} may change here."
    if old.by_id.keys() != new.by_id.keys() or _edges(old) != _edges(new):
        return [sentence]
    for node in old.nodes:
        other = new.by_id[node.id]
        own = _free(node) - {"samples", "temperature"} if node.id == name else frozenset({"prompt"})
        a, b = _values(node), _values(other)
        if node.operator != other.operator or any(a.get(key) != b.get(key) for key in (a.keys() | b.keys()) - own):
            return [sentence]
        if node.id != name and prompt_text(before, node) != prompt_text(after, other):
            return [sentence]
    return []


def _edges(graph: TypedGraph) -> Counter[tuple[object, ...]]:
    return Counter(
        (edge.source.id, edge.target.id, edge.case_label, edge.word, repr(edge.feeds)) for edge in graph.edges
    )


def _listed(names: frozenset[str]) -> str:
    *first, last = (f"`{name}`" for name in sorted(names))
    return f"{', '.join(first)} and {last}"
