"""What a node remembers, from whom, and where that is set, in words."""

from __future__ import annotations

from collections.abc import Sequence

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.settings import Memory
from merrow_analysis.graph.instructions import agent_name
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.graph.remembering import has_memory, remembered
from merrow_analysis.ide.texts.markup import CodeSpan, Inline, Markup

_MOST_NAMES = 12
_NOWHERE: Inline = (".",)


def memory_text(analysis: Analysis, node: TypedNode) -> Markup:
    """What a node remembers of earlier steps, and from whom; nothing where no memory is set, or it asks no model."""
    graph, settings = analysis.typed, analysis.settings
    if graph is None or not has_memory(node):
        return Markup()
    memory, nodes = remembered(graph, node, settings)
    where = _where(analysis, node)
    if memory.kind == "none":
        return (
            Markup()
            if where == _NOWHERE
            else Markup().say("It remembers nothing: it sees only what its edges bring", *where)
        )
    text = Markup().say("It remembers ", *_what(memory, nodes, node), *where)
    return text.say("In later turns it also remembers results of earlier turns.") if nodes and node.again_in else text


def _what(memory: Memory, nodes: Sequence[TypedNode], node: TypedNode) -> Inline:
    if memory.kind == "agent" and agent_name(node.resolution) is None:
        return ("nothing: ", CodeSpan("memory: agent"), " is for nodes with an agent")
    if not nodes:
        by = " of its agent" if memory.kind == "agent" else ""
        return (f"nothing: its edges already bring every earlier result{by}",)
    names: list[str] = []
    for number, other in enumerate(nodes[:_MOST_NAMES]):
        rest = len(nodes) - _MOST_NAMES
        is_last = number == len(nodes) - 1
        names += [" and " if is_last and number else ", " if number else "", CodeSpan(other.id)]
        if number == _MOST_NAMES - 1 and rest > 0:
            names.append(f" and {rest} more")
    return (_kind(memory, len(nodes)), *names)


def _kind(memory: Memory, count: int) -> str:
    result = "result" if count == 1 else "results"
    if memory.kind == "summary":
        return f"a summary of the {result} of "
    if memory.kind == "tokens":
        return f"the latest results that fit into {memory.amount} tokens, of "
    if memory.kind == "last" and memory.amount is not None and memory.amount < count:
        last = "last result" if memory.amount == 1 else f"last {memory.amount} results"
        return f"the {last} that there are of "
    return f"the {result} of "


def _where(analysis: Analysis, node: TypedNode) -> Inline:
    """Where its memory is set, as the end of the sentence; `_NOWHERE` where nothing sets it."""
    memory = node.resolution.parameters.get("memory")
    if memory is not None and memory.value is not None:
        return (f" (set in its {'label' if memory.block is None else 'metadata'}).",)
    if analysis.settings.says_memory:
        return (" (set for all steps in the front matter).",)
    if node.resolution.plain is not None:
        return (" (a step without an operator remembers everything, unless ", CodeSpan("memory:"), " is set).")
    return _NOWHERE
