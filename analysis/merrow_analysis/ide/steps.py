"""What a picture says of a step first, and which steps do the same.

A label such as ``Custom<br/>(role: billing, returns: Kind)`` names the operator first. A reader looks for what the step is
about: its role, where the label has no words of its own.
"""

from __future__ import annotations

from hashlib import blake2b

from merrow_analysis.definitions.prompts import Prompt, PromptBook, words_of_role
from merrow_analysis.graph.instructions import prompt_of, role_of
from merrow_analysis.graph.nodes import TypedNode

LONGEST = 60
"""Characters of the settings of a step."""


def title_of(node: TypedNode) -> str | None:
    """The role by which a step is known; None where its label says something else than its operator, and of all other nodes."""
    if node.kind != "operator" or node.spec is None or not _names_operator(node):
        return None
    role = role_of(node)
    return None if role is None else " ".join(role[1].split())


def settings_of(node: TypedNode) -> str:
    """The parameters in the label of a step that has a title, but for its role: ``returns: Kind``, at most 60 characters."""
    parts = node.resolution.label_parts
    role = role_of(node)
    if parts is None or role is None:
        return ""
    words = ", ".join(f"{key}: {' '.join(one.text.split())}" for key, one in parts.parameters.items() if key != role[0])
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"


def doing_of(node: TypedNode, prompts: PromptBook) -> str | None:
    """A word that is the same for steps that do the same with the same inputs: operator, prompt and all other parameters are
    equal, and so are the words that they are labelled with, up to a number behind them. None of nodes that are no steps.
    """
    if node.kind != "operator" or node.spec is None:
        return None
    role, prompt = role_of(node), prompt_of(node, prompts)
    told = str(prompt.text if isinstance(prompt, Prompt) else prompt or "")
    if role is not None and not told:
        told = words_of_role(role[1])
    label = node.flow.label
    words = "" if label is None or _names_operator(node) else words_of_role(label.text)
    said = {"label", *(role or ())[:1]}
    others = sorted((key, repr(one.value)) for key, one in node.resolution.parameters.items() if key not in said)
    return blake2b(repr((node.operator, node.flow.shape, told, words, others)).encode(), digest_size=9).hexdigest()


def _names_operator(node: TypedNode) -> bool:
    """Whether the label of a step says no more than its operator and parameters, or nothing."""
    label, parts = node.flow.label, node.resolution.label_parts
    if label is None:
        return True
    if node.resolution.plain is not None or parts is None or node.spec is None:
        return False
    return parts.lone_word.casefold() == node.spec.name.casefold() or (
        not parts.operator_word and bool(parts.parameters)
    )
