"""Prompts and the nodes that name them: roles without a prompt, prompts without a role."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice

from merrow_analysis.definitions.prompts import MODULE
from merrow_analysis.definitions.settings import WorkflowSettings
from merrow_analysis.diagnostics import Diagnostic, Fix, Related, Severity, Tag
from merrow_analysis.edits.front_matter import entry_removals
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.graph.resolve import Parameter, Resolution
from merrow_analysis.places.node_places import label_range, metadata_value_range
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.prompt_fixes import prompt_for_role, prompts_for_all, something_to_tell
from merrow_analysis.rules.registry import Family, Flags, Scope
from merrow_analysis.rules.reporting import fix, named, report
from merrow_analysis.suggest import Guesses
from merrow_analysis.syntax.tree import Block, FrontMatter
from merrow_analysis.text import Range, TextEdit

_FAMILY = Family[GraphContext](Scope.PARAMETER)
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


@_FAMILY.checked_by
def check_prompts(context: GraphContext) -> Iterator[Diagnostic]:
    """Findings about prompts."""
    graph, book, front = context.graph, context.book, context.front
    used: set[str] = set()
    first: tuple[Resolution, str] | None = None
    # What is to be said at each node with one of these resolutions; for most files that is nothing.
    wrong: dict[int, tuple[_Need, str | None]] = {}
    prompts, guesses = book.prompts, Guesses()
    resolutions = list(map(graph.resolutions.__getitem__, graph.ranked))
    for key, resolution in dict(zip(map(id, resolutions), resolutions, strict=True)).items():
        known = _NEEDS.get(key)
        need = known[1] if known is not None else _need(resolution)
        if need is None:
            continue
        if need.key is None:
            wrong[key] = need, None
            continue
        used.add(need.name)
        if not need.wanted or need.name in prompts:
            continue
        if not book.declared and need.name not in book.unusable:
            first = first or (resolution, need.key)
        elif not book.problems:
            near = guesses.closest(need.role, (prompt.name for prompt in prompts.values()))
            # The prompt that was probably meant is not unused as well.
            used.add((near or "").strip().casefold())
            wrong[key] = need, near
    for index in graph.ranked if wrong else ():
        found = wrong.get(id(graph.resolutions[index]))
        if found is not None:
            need, near = found
            node = graph.node(index)
            if need.key is None:
                yield _without_instruction(context, node, used)
            else:
                yield _missing(context, node, need.key, need.role, near)
    if first is not None:
        index = next(index for index in graph.ranked if graph.resolutions[index] is first[0])
        yield _no_prompts(context, graph.node(index), first[1])
    if front is not None and context.settings.prompts:
        yield from _unused(context.settings, used, front)


@dataclass(frozen=True, slots=True)
class _Need:
    """What a node asks of the prompts: its role (``name``: casefolded) and the key that says it, None for no role.

    ``wanted`` is false where the node's own prompt goes before the role's.
    """

    key: str | None
    role: str = ""
    name: str = ""
    wanted: bool = False


_REMEMBERED = 20_000
_NEEDS: dict[int, tuple[Resolution, _Need | None]] = {}
"""What was found for each resolution, which nodes that say the same share; kept alive so that ids stay theirs."""


def _need(resolution: Resolution) -> _Need | None:
    if len(_NEEDS) > _REMEMBERED:
        _NEEDS.clear()
    need = _find_need(resolution)
    _NEEDS[id(resolution)] = (resolution, need)
    return need


def _find_need(resolution: Resolution) -> _Need | None:
    """What a node needs; CustomCodeGenerate's role is its ``instruction``."""
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
    return None if {"prompt", "role", own} & parameters.keys() else _Need(None)


def _role(resolution: Resolution, key: str) -> str:
    """The role as text; one in a label is text whatever it looks like."""
    parameter, parts = resolution.parameters.get(key), resolution.label_parts
    if parameter is None:
        return ""
    value = parameter.value
    if parameter.block is None and parts is not None and key in parts.parameters:
        value = parts.parameters[key].text
    return value.strip() if isinstance(value, str) else ""


def _has_text(parameter: Parameter | None) -> bool:
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
    found = map(context.graph.node, context.graph.ranked)
    yield from prompts_for_all(
        context, (node for node in found if (need := _find_need(node.resolution)) and need.wanted)
    )


def _without_instruction(context: GraphContext, node: TypedNode, used: Collection[str]) -> Diagnostic:
    key = node.spec.instruction_key if node.spec is not None else "role"
    message = f"{named(node)}: the model is told nothing but the inputs; give the node a `{key}` or a `prompt`."
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
