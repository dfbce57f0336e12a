"""Prompts and the nodes that name them: roles without a prompt, prompts without a role."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from merrow_analysis.definitions.prompts import MODULE, Prompt, PromptBook
from merrow_analysis.definitions.settings import WorkflowSettings
from merrow_analysis.definitions.templates import PromptTemplate, TemplatePiece, pieces, variables
from merrow_analysis.diagnostics import Diagnostic, Fix, Related, Severity, Tag
from merrow_analysis.edits.front_matter import entry_removals
from merrow_analysis.graph.instructions import prompt_of
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.graph.resolve import NodeParameter, Resolution
from merrow_analysis.places.node_places import label_range, metadata_value_range
from merrow_analysis.places.template_places import TemplateText, template_texts
from merrow_analysis.rules.context import GraphContext, TextContext
from merrow_analysis.rules.fixes.prompt_fixes import (
    another_variable,
    prompt_for_role,
    prompts_for_all,
    something_to_tell,
    variable_at_end,
)
from merrow_analysis.rules.registry import Flags, RuleFamily, Scope
from merrow_analysis.rules.reporting import fix, listed, named, report
from merrow_analysis.suggest import Guesses, closest
from merrow_analysis.syntax.tree import Block, FrontMatter
from merrow_analysis.text import Range, TextEdit

_FAMILY = RuleFamily[GraphContext](Scope.PARAMETER)
ROLE_WITHOUT_PROMPT = _FAMILY.rule(
    "MW301", "role-without-prompt", "A node's role names a prompt that does not exist.", Severity.ERROR, fix="sometimes"
)
NO_PROMPTS = _FAMILY.rule(
    "MW302", "no-prompts", "Nodes have roles, but no prompts are given anywhere.", Severity.HINT, fix="sometimes"
)
UNUSED_PROMPT = _FAMILY.rule(
    "MW303",
    "unused-prompt",
    "No node uses a prompt of the front matter.",
    Severity.WARNING,
    fix="always",
    flags=Flags.NEEDS_WHOLE,
)
NO_INSTRUCTION = _FAMILY.rule(
    "MW309",
    "node-without-prompt",
    "A node that is one model call has neither a role nor a prompt.",
    Severity.HINT,
    fix="sometimes",
)


UNKNOWN_VARIABLE = _FAMILY.rule(
    "MW315",
    "unknown-variable",
    "A template has a variable that is not an input port of the node.",
    Severity.ERROR,
    fix="sometimes",
)
_FED = RuleFamily[TextContext](Scope.TEXT)
UNUSED_PORT = _FED.rule(
    "MW316",
    "port-not-in-template",
    "A template leaves out an input port that the node is fed.",
    Severity.WARNING,
    fix="sometimes",
    flags=Flags.NEEDS_WHOLE,
)


@_FAMILY.checked_by
def check_prompts(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about prompts."""
    graph, book, front = context.graph, context.book, context.front
    used: set[str] = set()
    prompts = book.prompts
    # Nodes that say the same share a resolution; at most of them there is nothing to be said.
    unsaid: dict[Resolution, _Need] = {}
    for resolution in set(graph.resolutions):
        need = _need(resolution)
        if need is not None:
            if need.key is not None:
                used.add(need.name)
            if need.key is None or (need.wanted and need.name not in prompts):
                unsaid[resolution] = need
    wrong: dict[Resolution, tuple[_Need, str | None]] = {}
    nowhere: dict[Resolution, str] = {}
    guesses = Guesses()
    # Which misspelt roles are looked up is a matter of their order.
    for resolution in _by_rank(graph, unsaid) if len(unsaid) > 1 and book.declared else unsaid:
        need = unsaid[resolution]
        if need.key is None:
            wrong[resolution] = need, None
        elif not book.declared and need.name not in book.unusable:
            nowhere[resolution] = need.key
        elif not book.problems:
            near = guesses.closest(need.role, (prompt.name for prompt in prompts.values()))
            # The prompt that was probably meant is not unused as well.
            used.add((near or "").strip().casefold())
            wrong[resolution] = need, near
    for index in graph.ranked if wrong else ():
        lack = wrong.get(graph.resolutions[index])
        if lack is not None:
            need, near = lack
            node = graph.node(index)
            if need.key is None:
                yield _without_instruction(context, node, used)
            else:
                yield _missing(context, node, need.key, need.role, near)
    if nowhere:
        handles = map(graph.core.handles.__getitem__, graph.core.chart.nodes)
        index = next(index for index in handles if graph.resolutions[index] in nowhere)
        yield _no_prompts(context, graph.node(index), nowhere[graph.resolutions[index]])
    if front is not None and context.settings.prompts:
        yield from _unused(context.settings, used, front)
    for template in template_texts(graph, book, front, context.settings):
        yield from _unknown_variables(template)


def _by_rank(graph: TypedGraph, wanted: Collection[Resolution]) -> list[Resolution]:
    """Some resolutions, in the order of the first nodes that they are those of."""
    return [resolution for resolution in _in_order(graph) if resolution in wanted]


def _in_order(graph: TypedGraph) -> Iterable[Resolution]:
    """All resolutions, each once, in the order of the first nodes that they are those of."""
    return dict.fromkeys(map(graph.resolutions.__getitem__, graph.ranked))


@_FED.checked_by
def check_fed_ports(context: TextContext) -> Iterator[Diagnostic]:
    """Ports that are fed and that the node's template does not name."""
    workflow = context.workflow
    if workflow is None:
        return
    for template in template_texts(workflow.graph, workflow.book, workflow.front, workflow.settings):
        yield from _left_out(template)


@dataclass(frozen=True, slots=True)
class _Need:
    """What a node asks of the prompts: its role (``name``: casefolded) and the key that says it, None for no role.

    ``wanted`` is false where the node's own prompt takes precedence over the role's.
    """

    key: str | None
    role: str = ""
    name: str = ""
    wanted: bool = False


_ANSWER = "what is needed of prompts"


def _need(resolution: Resolution) -> _Need | None:
    """What a node needs of the prompts, and all others that share its resolution."""
    answers = resolution.answers
    if _ANSWER not in answers:
        answers[_ANSWER] = _find_need(resolution)
    need: _Need | None = answers[_ANSWER]
    return need


def _find_need(resolution: Resolution) -> _Need | None:
    """CustomCodeGenerate's role is its ``instruction``."""
    parameters, spec = resolution.parameters, resolution.spec
    own = spec.instruction_key if spec is not None else None
    for key in ("role",) if own is None or own == "role" else (own, "role"):
        role = _role(resolution, key)
        if role:
            own_text = _has_text(parameters.get("prompt")) or (spec is not None and spec.prompt is not None)
            own_text = own_text or resolution.plain is not None
            wanted = resolution.kind == "operator" and not own_text
            return _Need(key, role, role.casefold(), wanted)
    if resolution.kind != "operator" or spec is None or own is None or spec.prompt is not None:
        return None
    if resolution.plain is not None:
        return None
    return None if {"prompt", "role", "agent", own} & parameters.keys() else _Need(None)


def _role(resolution: Resolution, key: str) -> str:
    """The role as text; one in a label is text whatever it looks like."""
    parameter, parts = resolution.parameters.get(key), resolution.label_parts
    if parameter is None:
        return ""
    value = parameter.value
    if parameter.block is None and parts is not None and key in parts.parameters:
        value = parts.parameters[key].text
    return value.strip() if isinstance(value, str) else ""


def _has_text(parameter: NodeParameter | None) -> bool:
    return parameter is not None and isinstance(parameter.value, str) and bool(parameter.value.strip())


def _role_range(node: TypedNode, key: str) -> Range:
    parameter = node.resolution.parameters[key]
    parts = node.resolution.label_parts
    if parameter.block is not None:
        metadata, block = node.flow.metadata[parameter.block]
        return metadata_value_range(metadata, block, key)
    if parts is not None and key in parts.parameters:
        return label_range(node.flow, parts.parameters[key].value_span)
    return node.flow.range


def _missing(context: GraphContext, node: TypedNode, key: str, role: str, near: str | None) -> Diagnostic:
    book, place = context.book, _role_range(node, key)
    reason = book.unusable.get(role.strip().casefold())
    if reason is not None:
        message = f"{named(node)}: {reason}; write it as a text in quotes, so that {key} `{role}` has its prompt."
        return report(ROLE_WITHOUT_PROMPT, place, message, fixes=prompt_for_role(context, node, role.strip()))
    hint = f"add one named `{role.strip()}`." if near is None else f"did you mean `{near}`?"
    related: list[Related] = []
    if near is not None:
        prompt = book.prompts[near.strip().casefold()]
        if prompt.file is not None and prompt.range is not None:
            related.append(Related(prompt.range, f"prompt `{near}`", prompt.file))
    message = f"{named(node)}: there is no prompt for {key} `{role.strip()}`; {hint}"
    fixes = _prompted(context, node, place, role, near)
    return report(ROLE_WITHOUT_PROMPT, place, message, related=related, fixes=fixes)


def _prompted(context: GraphContext, node: TypedNode, place: Range, role: str, near: str | None) -> Iterator[Fix]:
    if near is not None:
        written = near.lower() if role == role.lower() else near
        yield fix(f"Write {written}", [TextEdit(place, written)], safe=False)
    yield from prompt_for_role(context, node, role.strip())


def _no_prompts(context: GraphContext, node: TypedNode, key: str) -> Diagnostic:
    message = (
        f"{named(node)}: no prompts are given, so each {key} runs on a sentence made of its words; write them below"
        f" `workflow: prompts:` in the front matter, or in a {MODULE} beside this file."
    )
    return report(NO_PROMPTS, _role_range(node, key), message, fixes=_prompts(context))


def _prompts(context: GraphContext) -> Iterator[Fix]:
    needs = map(_need, _in_order(context.graph))
    yield from prompts_for_all(context, (need.role for need in needs if need is not None and need.wanted))


def _without_instruction(context: GraphContext, node: TypedNode, used: Collection[str]) -> Diagnostic:
    key = node.spec.instruction_key if node.spec is not None else "role"
    message = f"{named(node)}: the model sees only the inputs; give the node a `{key}` or a `prompt`."
    return report(NO_INSTRUCTION, node.flow.range, message, fixes=something_to_tell(context, node, used))


def _unused(settings: WorkflowSettings, used: set[str], front: tuple[FrontMatter, Block]) -> Iterator[Diagnostic]:
    matter, block = front
    start = matter.body_span[0]
    for name in settings.prompts:
        if name.strip().casefold() in used:
            continue
        places = settings.document.places("workflow", "prompts", name)
        if places is None:
            continue
        key, value = places
        place = block.range((start + key[0], start + key[1]))
        edits = islice(entry_removals(block, start + key[0], start + value[1]), 1)
        fixes = [fix(f"Remove prompt {name}", edits, safe=False)]
        message = f"No node has the role `{name}`; remove this prompt, or give it to a node."
        yield report(UNUSED_PROMPT, place, message, fixes=fixes, tags=(Tag.UNNECESSARY,))


def _unknown_variables(template: TemplateText) -> Iterator[Diagnostic]:
    """A finding for each wrong variable, for the first node that it is wrong at."""
    by_place = {piece.span: piece for piece in template.written()}
    seen: set[tuple[int, int] | str] = set()
    for node in template.nodes:
        ports = [port.name for port in node.input_ports]
        wrong = [
            piece
            for piece in by_place.values() or pieces(template.text)
            if piece.kind == "stray" or (piece.kind == "variable" and piece.text not in ports)
        ]
        for piece in wrong:
            if (piece.span if by_place else piece.text) not in seen:
                seen.add(piece.span if by_place else piece.text)
                yield _unknown(template, node, piece, ports, here=bool(by_place))


def _unknown(
    template: TemplateText, node: TypedNode, piece: TemplatePiece, ports: list[str], *, here: bool
) -> Diagnostic:
    place = node.flow.range if not here or template.block is None else template.block.range(piece.span)
    braced = f"{{{piece.text}}}" if piece.kind == "variable" else piece.text
    near = closest(braced.strip("{} \t"), ports)
    if piece.kind == "variable" and len(ports) == 1:
        near = ports[0]
    doubled = braced.replace("{", "{{").replace("}", "}}")
    if braced in "{}":
        told = f"a single `{braced}` in its template is neither a variable nor a brace; double it: `{doubled}`."
    elif near is not None:
        told = f"`{braced}` in its template is not one of its input ports; did you mean `{{{near}}}`?"
    else:
        known = listed(f"`{{{port}}}`" for port in ports)
        what = f"its variables are {known}" if ports else "the node has no input ports"
        told = (
            f"`{braced}` in its template is not one of its input ports; {what}. For braces, double them: `{doubled}`."
        )
    fixes = another_variable(place, braced, near, doubled) if here else ()
    return report(UNKNOWN_VARIABLE, place, f"{named(node)}: {told}", fixes=fixes)


def _left_out(template: TemplateText) -> Iterator[Diagnostic]:
    """Ports that are fed at any node with a template and that it does not name, each once."""
    used, seen = variables(template.text), set[str]()
    for node in template.nodes:
        for port in node.input_ports:
            if port.name in used or port.name in seen or not node.sources(port.name):
                continue
            seen.add(port.name)
            place = node.flow.range if template.block is None else template.block.range(template.span)
            told = f"its template never uses `{{{port.name}}}`, so the input comes before the prompt; add it where it belongs."
            fixes = variable_at_end(template, port.name)
            yield report(UNUSED_PORT, place, f"{named(node)}: {told}", fixes=fixes)


def template_problems(node: TypedNode, book: PromptBook) -> Iterator[tuple[str, str]]:
    """What is wrong with the template of a single node, by code and variable or port; nothing where it has none."""
    if node.kind != "operator" or node.spec is None or not node.spec.has_prompt:
        return
    prompt = prompt_of(node, book)
    text = prompt.text if isinstance(prompt, Prompt) else prompt
    if not isinstance(text, PromptTemplate):
        return
    named_there, ports = variables(text), {port.name for port in node.input_ports}
    yield from ((UNKNOWN_VARIABLE.code, name) for name in sorted(named_there - ports))
    yield from ((UNUSED_PORT.code, port) for port in sorted(ports - named_there) if node.sources(port))
