"""What a node tells its model, or asks a person: its prompt with its name, what it remembers; and how its result is validated."""

from __future__ import annotations

from dataclasses import dataclass, replace

from merrow_analysis.definitions.prompts import Prompt, PromptBook
from merrow_analysis.definitions.settings import Agent, Memory, WorkflowSettings, read_memory
from merrow_analysis.definitions.templates import PromptTemplate
from merrow_analysis.definitions.validators import DEFAULT_ATTEMPTS, names_in
from merrow_analysis.graph.language import GraphSettings
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.graph.resolve import Resolution


def prompt_of(node: TypedNode, prompts: PromptBook) -> Prompt | str | None:
    """What a node tells its model: its own text, the prompt its role names, the operator's; None where there is none.

    The text is a `PromptTemplate` where it has variables: a node's ``template:`` takes precedence over what the prompt says.
    """
    prompt, template = _prompt_of(node, prompts), node.resolution.parameters.get("template")
    if template is None or not isinstance(template.value, bool) or prompt is None:
        return prompt
    text = prompt.text if isinstance(prompt, Prompt) else prompt
    read = PromptTemplate(text) if template.value else str(text)
    return replace(prompt, text=read) if isinstance(prompt, Prompt) else read


def _prompt_of(node: TypedNode, prompts: PromptBook) -> Prompt | str | None:
    if node.spec is not None and node.spec.is_tool:
        return None
    own = node.resolution.parameters.get("prompt" if node.spec is None else node.spec.prompt_key)
    if own is not None and isinstance(own.value, str) and own.value.strip():
        return own.value
    if node.spec is not None and node.spec.is_human:
        return None
    if node.spec is not None and node.spec.prompt is not None:
        return node.spec.prompt
    role = role_of(node)
    if role is None and node.resolution.plain is not None:
        return node.resolution.plain or None
    return prompts.find(role[1]) if role is not None else None


def role_of(node: TypedNode) -> tuple[str, str] | None:
    """The key that names a node's prompt, and the name; a name in a label is text whatever it looks like."""
    resolution = node.resolution
    own = node.spec.instruction_key if node.spec is not None else None
    for key in dict.fromkeys((own or "role", "role")):
        parameter = resolution.parameters.get(key)
        if parameter is None:
            continue
        value = parameter.value
        parts = resolution.label_parts
        if parameter.block is None and parts is not None and key in parts.parameters:
            value = parts.parameters[key].text
        if isinstance(value, str) and value.strip():
            return key, value.strip()
    return None


def agent_of(node: TypedNode, settings: WorkflowSettings) -> Agent | None:
    """Who does a node; None where it names no agent that there is."""
    name = agent_name(node.resolution)
    return None if name is None else settings.agents.get(name.casefold())


def agent_name(resolution: Resolution) -> str | None:
    """The agent that a node's parameters name, as it is written."""
    agent = resolution.parameters.get("agent")
    return agent.value.strip() if agent is not None and isinstance(agent.value, str) and agent.value.strip() else None


def knows_aims(node: TypedNode, settings: WorkflowSettings) -> bool:
    """Whether a node's prompt says what the steps that read its result are asked."""
    aims = node.resolution.parameters.get("aims")
    return aims.value is True if aims is not None and aims.value is not None else settings.aims is True


def memory_of(node: TypedNode, settings: WorkflowSettings) -> Memory:
    """What a node remembers: what its own settings say, else the workflow's; where neither says, a plain step remembers all."""
    memory = node.resolution.parameters.get("memory")
    if memory is not None and memory.value is not None:
        return read_memory(memory.value)
    return Memory("all") if node.resolution.plain is not None and not settings.says_memory else settings.memory


@dataclass(frozen=True, slots=True)
class ValidationInstruction:
    """How the result of a node is validated: by which validators, in how many attempts at most, and what becomes of it when none
    passes.
    """

    names: tuple[str, ...]
    attempts: int
    on_invalid: str


def validation_of(node: TypedNode, settings: GraphSettings) -> ValidationInstruction | None:
    """How a node's result is validated; None where it names no validator that there is. Nodes that ask no model, and Calls,
    have one attempt: it would come to the same again.
    """
    parameters = node.resolution.parameters
    validate = parameters.get("validate")
    names = (
        []
        if validate is None
        else [name for name in names_in(validate.value) if name.casefold() in settings.validators]
    )
    if not names or node.kind not in ("operator", "output"):
        return None
    attempts, end = parameters.get("attempts"), parameters.get("on_invalid")
    spec = node.spec
    once = spec is None or spec.is_call or spec.is_agent or not spec.has_prompt
    most = DEFAULT_ATTEMPTS if attempts is None or not isinstance(attempts.value, (int, float)) else int(attempts.value)
    return ValidationInstruction(tuple(names), 1 if once else most, "fail" if end is None else str(end.value))
