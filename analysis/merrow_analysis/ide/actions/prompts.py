"""Prompts moved between a node and the front matter."""

from __future__ import annotations

import re
from collections.abc import Iterator

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.prompts import Prompt
from merrow_analysis.definitions.templates import PromptTemplate
from merrow_analysis.edits.front_matter import add_prompt, remove_prompt
from merrow_analysis.edits.parameters import Moved, rewrite
from merrow_analysis.edits.yaml_write import quoted, word
from merrow_analysis.graph.instructions import prompt_of, role_of
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.ide.actions.actions import EXTRACT_PROMPT, INLINE_PROMPT, Action, Edits, Request, possible
from merrow_analysis.ide.cursor.selection import selected_node
from merrow_analysis.ide.texts.node_text import uses_of_prompt

_NAME_LETTERS = re.compile(r"[^a-z0-9_]+")


def extract_prompt(request: Request) -> Iterator[Action]:
    """Give a node's own prompt a name in the front matter."""
    analysis = request.analysis
    node = selected_node(analysis, request.range)
    if node is None or not _has_own_prompt(node) or _others_would_miss_theirs(analysis, node):
        return
    if analysis.settings.prompt_file is not None:
        return
    name = _new_name(analysis, node)
    title = f"Move the prompt of {node.id} to the front matter, as {name}"
    yield from possible(title, EXTRACT_PROMPT, _extract(analysis, node, name))


def _has_own_prompt(node: TypedNode) -> bool:
    own = node.resolution.parameters.get("prompt")
    if node.kind != "operator" or node.spec is None or own is None:
        return False
    return isinstance(own.value, str) and bool(own.value.strip()) and node.spec.prompt is None


def _others_would_miss_theirs(analysis: Analysis, node: TypedNode) -> bool:
    """Whether a first prompt in the front matter would make errors of roles that have none."""
    if analysis.prompts.declared or analysis.typed is None:
        return False
    return any(
        other.kind == "operator"
        and other is not node
        and role_of(other) is not None
        and prompt_of(other, analysis.prompts) is None
        for other in analysis.typed.nodes
    )


def _new_name(analysis: Analysis, node: TypedNode) -> str:
    """The node's role, where nothing else goes by that name; else one made of its id."""
    typed = analysis.typed
    roles = {
        role[1].casefold() for other in (typed.nodes if typed else ()) if (role := role_of(other)) and other is not node
    }
    taken = roles | analysis.prompts.prompts.keys() | analysis.prompts.unusable.keys()
    role = role_of(node)
    if role is not None and role[1].casefold() not in taken:
        return role[1]
    base = _NAME_LETTERS.sub("_", node.id.lower()).strip("_") or "prompt"
    name, number = base, 2
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    return name


def _extract(analysis: Analysis, node: TypedNode, name: str) -> Edits | None:
    text = node.resolution.parameters["prompt"].value
    role = role_of(node)
    key = role[0] if role is not None else (node.spec.instruction_key if node.spec is not None else None) or "role"
    added = add_prompt(analysis.diagram, name, str(text))
    value = word(name)
    if added is None or value is None:
        return None
    entries = {} if role is not None and role[1] == name else {key: value}
    moved = rewrite(node, Moved(remove=frozenset({"prompt", *entries}), metadata=entries))
    return None if moved is None else (added, *moved)


def inline_prompt(request: Request) -> Iterator[Action]:
    """Write the prompt that a node's role names at the node itself."""
    analysis = request.analysis
    node = selected_node(analysis, request.range)
    if node is None or node.kind != "operator":
        return
    role, prompt = role_of(node), prompt_of(node, analysis.prompts)
    if role is None or not isinstance(prompt, Prompt) or not prompt.text.strip():
        return
    title = f"Inline prompt {prompt.name} into {node.id}"
    yield from possible(title, INLINE_PROMPT, _inline(analysis, node, role[0], prompt))


def _inline(analysis: Analysis, node: TypedNode, key: str, prompt: Prompt) -> Edits | None:
    text = quoted(prompt.text, in_statement=True)
    roles = {key, "role"} & node.resolution.parameters.keys()
    entries = {"prompt": text}
    if isinstance(prompt.text, PromptTemplate):
        entries["template"] = "true"
    moved = rewrite(node, Moved(remove=frozenset({*roles, *entries}), metadata=entries))
    if moved is None:
        return None
    if prompt.file is None and uses_of_prompt(analysis, prompt.name) == 1:
        removed = remove_prompt(analysis.diagram, prompt.name)
        return None if removed is None else (removed, *moved)
    return moved
