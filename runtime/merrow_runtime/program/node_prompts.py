"""What the nodes of a workflow tell their models."""

from __future__ import annotations

from merrow_analysis.definitions.prompts import Prompt, words_of_role
from merrow_analysis.definitions.settings import Agent
from merrow_analysis.definitions.templates import PromptTemplate
from merrow_analysis.graph.instructions import prompt_of, role_of
from merrow_analysis.graph.nodes import TypedNode
from merrow_runtime.operators.formats.fences import fence_around, framed
from merrow_runtime.operators.prompts.prompting import AIMS_NOTICE, heading_text
from merrow_runtime.workflow import Workflow


def prompt_text_of(workflow: Workflow, node: TypedNode, agent: Agent | None) -> str | None:
    """What a node tells its model: what its agent says, then its own prompt."""
    return told_by(agent, objective_of(workflow, node))


def told_by(agent: Agent | None, own: str | None) -> str | None:
    """What an agent says, then a node's own prompt."""
    if agent is None:
        return own
    if isinstance(own, PromptTemplate):
        return PromptTemplate(agent.text.replace("{", "{{").replace("}", "}}") + f"\n\n{own}")
    return agent.text if own is None else f"{agent.text}\n\n{own}"


def aims_of(workflow: Workflow, node: TypedNode) -> str | None:
    """What the nodes that read a node's result are asked, those behind a Decision too; None where that says nothing."""
    aims: dict[str, str] = {}
    waiting, seen = [node], {node.id}
    for step in waiting:
        for edge in (*step.outgoing, *step.again_out):
            reader = edge.target
            if reader.id in seen:
                continue
            seen.add(reader.id)
            if reader.kind == "decision" and not reader.asks:
                waiting.append(reader)
            objective = None if reader.kind == "input" or reader.kind == "output" else objective_of(workflow, reader)
            if objective is not None and objective.strip():
                aims[reader.id] = objective.strip()
    if not aims:
        return None
    fence = fence_around(aims.values())
    asked = (f"## {heading_text(name)}\n{framed(text, fence=fence)}" for name, text in aims.items())
    return "\n\n".join((AIMS_NOTICE, *asked))


def objective_of(workflow: Workflow, node: TypedNode) -> str | None:
    """What a node asks for itself; None where it says nothing."""
    if node.asks:
        return node.resolution.ask
    prompt = prompt_of(node, workflow.analysis.prompts)
    if isinstance(prompt, Prompt):
        return prompt.text
    if prompt is not None:
        return prompt
    role = role_of(node)
    return None if role is None else words_of_role(role[1])
