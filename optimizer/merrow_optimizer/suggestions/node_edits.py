"""A node's prompt, `samples` or `temperature` written into a workflow's text, where the file keeps such things."""

from __future__ import annotations

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.prompts import Prompt
from merrow_analysis.edits.front_entries import write_text
from merrow_analysis.edits.parameters import Moved, rewrite
from merrow_analysis.edits.yaml_write import quoted, word
from merrow_analysis.graph.instructions import prompt_of, role_of
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.text import edited
from merrow_optimizer.suggestions.refusals import Unusable


def node_of(analysis: Analysis, name: str) -> TypedNode:
    """The node with an id. Raises `Unusable`."""
    node = None if analysis.typed is None else analysis.typed.by_id.get(name)
    if node is None:
        raise Unusable("read", [f"The workflow has no node {name}."])
    return node


def prompt_text(analysis: Analysis, node: TypedNode) -> str | None:
    """What a node tells its model; None where it has no prompt."""
    prompt = prompt_of(node, analysis.prompts)
    return prompt.text if isinstance(prompt, Prompt) else prompt


def takes_prompt(node: TypedNode) -> bool:
    """Whether a node has a prompt that can be another one."""
    spec = node.spec
    return node.kind == "operator" and spec is not None and spec.asks_model and not spec.is_call


def with_prompt(text: str, analysis: Analysis, name: str, prompt: str) -> str:
    """The text with another prompt for a node: in the front matter, where only this node has its prompt there, else at the node.

    Files of prompts stay as they are. Raises `Unusable`.
    """
    node = node_of(analysis, name)
    if not takes_prompt(node):
        raise Unusable("read", [f"{name} has no prompt of its own to change."])
    role, front, prompts = role_of(node), analysis.diagram.front_matter, analysis.settings.prompts
    if "prompt" not in node.resolution.parameters and role is not None and front is not None:
        entry = next((key for key in prompts if key.strip().casefold() == role[1].casefold()), None)
        if entry is not None and _is_alone(analysis, node, role[1]):
            value = analysis.settings.document.values["workflow"]["prompts"][entry]  # type: ignore[index]
            nested = ("text",) if isinstance(value, dict) else ()
            before = prompts[entry]
            written = f"{prompt}\n" if before.endswith("\n") else prompt
            edit = write_text(front, ("workflow", "prompts", entry, *nested), written)
            if edit is not None:
                return edited(text, [edit])
    return _rewritten(text, node, "prompt", quoted(prompt, in_statement=True))


def with_value(text: str, analysis: Analysis, name: str, key: str, value: float | str | None) -> str:
    """The text with another value of a node's parameter; None takes it out. Raises `Unusable`."""
    node = node_of(analysis, name)
    if node.kind != "operator":
        raise Unusable("read", [f"{name} has no `{key}`."])
    written = None if value is None else word(value)
    if value is not None and written is None:
        raise Unusable("read", [f"{value!r} can't be the `{key}` of {name}."])
    return _rewritten(text, node, key, written)


def _is_alone(analysis: Analysis, node: TypedNode, role: str) -> bool:
    """Whether no other node has the prompt of this name."""
    graph = analysis.typed
    return graph is not None and not any(
        named is not None and named[1].casefold() == role.casefold()
        for other in graph.nodes
        if other.id != node.id and (named := role_of(other)) is not None
    )


def _rewritten(text: str, node: TypedNode, key: str, value: str | None) -> str:
    if value is None and key not in node.resolution.parameters:
        return text
    edits = rewrite(node, Moved(frozenset({key}), {} if value is None else {key: value}))
    if edits is None:
        raise Unusable("read", [f"The `{key}` of {node.id} can't be written where it is declared."])
    return edited(text, list(edits))
