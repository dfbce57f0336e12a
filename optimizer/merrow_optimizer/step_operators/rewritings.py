"""The ways to make operators of steps: one of one step, one of several, or one that is declared already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.operators import OperatorSpec
from merrow_analysis.edits.front_entries import add_entry
from merrow_analysis.edits.front_matter import lose_prompt
from merrow_analysis.edits.parameters import Moved, rewrite
from merrow_analysis.edits.replacements import CannotWriteError, edits_both_ways
from merrow_analysis.edits.write import write
from merrow_analysis.edits.yaml_write import quoted
from merrow_analysis.graph.instructions import role_of
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.text import edited
from merrow_optimizer.extraction.kinds import merged, port_of, signature
from merrow_optimizer.extraction.steps import operator_name
from merrow_optimizer.mutations.calls.file_set import Files
from merrow_optimizer.mutations.calls.meaning import meaning
from merrow_optimizer.mutations.calls.rewriting import Rewriting, RewrittenWorkflow
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.mutations.substitution import substitute
from merrow_optimizer.step_operators.signatures import OwnStep, fed, own_step, ports_of_kinds

NAME_ONE = "Name this step as an operator"
NAME_SEVERAL = "Name these steps as one operator"
_SAID_BY_OPERATOR = frozenset({"prompt", "role", "template", "returns"})
"""Parameters of a node that its operator says from now on."""


def declarations(original: Original, files: Files, nodes: Sequence[TypedNode]) -> Iterator[Rewriting]:
    """One operator for all of these nodes, in the front matter of the workflow; nothing unless each can be one, and what they
    give is of one kind. Where their prompts differ, the commonest becomes the operator's, and other nodes keep theirs.
    """
    steps = [step for node in nodes if (step := own_step(original, node)) is not None]
    if not steps or len(steps) != len(nodes) or len({step.given for step in steps}) != 1:
        return
    title = NAME_ONE if len(steps) == 1 else NAME_SEVERAL
    name = _free_name(original, steps)
    content = ("declare", name, *sorted(step.node.id for step in steps))
    yield Rewriting(title, steps[0].node.flow.range, content, partial(_declare, original, files, steps, name))


def uses(original: Original, files: Files, node: TypedNode) -> Iterator[Rewriting]:
    """The operators that the workflow or its libraries declare and whose signature unifies with that of a node, in order."""
    step = own_step(original, node)
    for spec in original.typed.operators.specs.values() if step is not None else ():
        if step is not None and not spec.built_in and fed(step, spec) is not None:
            title = f"Use operator {spec.name} of the library here"
            write_it = partial(_use, original, files, [step], spec, spec.prompt or step.prompt)
            yield Rewriting(title, node.flow.range, ("use", spec.name, node.id), write_it)


def _free_name(original: Original, steps: Sequence[OwnStep]) -> str:
    """A name for an operator: that of the first step's prompt, else of its node, in capitals."""
    wanted = operator_name(steps[0].role or steps[0].node.id)
    name, number = wanted, 1
    while name.casefold() in original.typed.operators.specs:
        number += 1
        name = f"{wanted}{number}"
    return name


def _declare(original: Original, files: Files, steps: Sequence[OwnStep], name: str) -> RewrittenWorkflow:
    prompts = [step.prompt for step in steps]
    prompt = max(prompts, key=prompts.count)
    own = merged(signature(step.taken, step.given) for step in steps)
    if own is None:
        raise CannotWriteError("The steps give values of different kinds.")
    many = ports_of_kinds(steps)
    inputs: dict[str, Any] = {
        port_of(port.kind) + "?" * port.is_optional: {"type": port.kind, "many": True} if many[port.kind] else port.kind
        for port in own.inputs
    }
    if len(inputs) < len(own.inputs):
        raise CannotWriteError("Two of the kinds that the steps read have ports of the same name.")
    body = {"inputs": inputs, "outputs": {port_of(own.output): own.output}, "prompt": prompt}
    text = _text(original.analysis)
    edit = add_entry(original.analysis.diagram.front_matter, "operators", name, body, on_lines=True)
    if edit is None:
        raise CannotWriteError("The front matter has no place for an operator.")
    declared = files.open(edited(text, [edit])).analysis()
    spec = None if declared.typed is None else declared.typed.operators.specs.get(name.casefold())
    if spec is None:
        raise CannotWriteError(f"The operator {name} can't be declared.")
    return _use(Original(declared), files, steps, spec, prompt, before=original.analysis)


def _use(
    original: Original,
    files: Files,
    steps: Sequence[OwnStep],
    spec: OperatorSpec,
    prompt: str,
    before: Analysis | None = None,
) -> RewrittenWorkflow:
    """Put an operator in the place of steps. Those whose prompt is the operator's from now on, or one of them alone, lose theirs;
    ``before`` is the workflow before the operator was declared, where it is new.
    """
    old = original.analysis if before is None else before
    told: dict[str, str] = {}
    for step in steps:
        told[step.node.id] = prompt if before is None or step.prompt == prompt else step.prompt
        original = Original(files.open(_with(original, step.node.id, spec)).analysis())
        kept = None if spec.prompt is not None and told[step.node.id] == prompt else told[step.node.id]
        original = Original(files.open(_with_prompt(original, step.node.id, kept)).analysis())
    text = _text(original.analysis)
    for name in sorted({step.role.casefold() for step in steps if step.role is not None}):
        text = _without_prompt(files.open(text).analysis(), name)
    return RewrittenWorkflow(text, partial(_means_the_same, old, spec.name, told))


def _with(original: Original, node: str, spec: OperatorSpec) -> str:
    """The text with an operator at a node whose signature unifies with it."""
    step = own_step(original, original.typed.by_id[node])
    ports = None if step is None else fed(step, spec)
    if step is None or ports is None:
        raise CannotWriteError(f"{spec.name} does not fit {node}.")
    try:
        made = write(original.workflow_text, substitute(original, step.node, spec, ports))
        return edits_both_ways(original.workflow_text.places, made)[0]
    except CannotWriteError:
        raise
    except ValueError:
        raise CannotWriteError("The places to edit lie inside each other.") from None


def _with_prompt(original: Original, node: str, prompt: str | None) -> str:
    """The text in which a node says nothing that its operator says, but this prompt, which then is written at the node itself: an
    operator's own prompt comes before that of a role.
    """
    typed = original.typed.by_id[node]
    gone = _SAID_BY_OPERATOR & typed.resolution.parameters.keys()
    written = {} if prompt is None else {"prompt": quoted(prompt, in_statement=True)}
    if not gone and not written:
        return _text(original.analysis)
    edits = rewrite(typed, Moved(gone | written.keys(), written))
    if edits is None:
        raise CannotWriteError(f"What {node} says can't be taken out where it is declared.")
    return edited(_text(original.analysis), edits)


def _without_prompt(analysis: Analysis, role: str) -> str:
    """The text without a prompt of the front matter that no node has any more."""
    text, graph = _text(analysis), analysis.typed
    named = [
        named_role[1].casefold() for node in (graph.nodes if graph else ()) if (named_role := role_of(node)) is not None
    ]
    entry = next((key for key in analysis.settings.prompts if key.strip().casefold() == role), None)
    return text if entry is None or role in named else edited(text, [lose_prompt(analysis.diagram, entry)])


def _means_the_same(before: Analysis, operator: str, told: Mapping[str, str], after: Analysis) -> bool:
    """Whether all is as before but the operators of some nodes, which have these prompts and read the same in the same order."""
    old, new = meaning(before), meaning(after)
    if old.nodes.keys() != new.nodes.keys() or old.boxes != new.boxes:
        return False
    for name, work in old.nodes.items():
        arrivals = [(arrival.source, arrival.case, arrival.word) for arrival in old.arrivals[name]]
        if arrivals != [(arrival.source, arrival.case, arrival.word) for arrival in new.arrivals[name]]:
            return False
        if name not in told:
            if work != new.nodes[name] or _ports(old.arrivals[name]) != _ports(new.arrivals[name]):
                return False
            continue
        kept = [parameter for parameter in work.parameters if parameter[0] not in _SAID_BY_OPERATOR]
        renewed = new.nodes[name]
        left = [parameter for parameter in renewed.parameters if parameter[0] not in _SAID_BY_OPERATOR]
        if (renewed.operator, renewed.told, renewed.box) != (operator, told[name], work.box) or kept != left:
            return False
    return True


def _ports(arrivals: Sequence[Any]) -> Counter[str]:
    return Counter(port for arrival in arrivals for _, port in arrival.values)


def _text(analysis: Analysis) -> str:
    return "".join(block.text for block in analysis.diagram.blocks)
