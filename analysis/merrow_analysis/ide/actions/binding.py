"""A step of a drawing bound to a tool: what a model only played is done by the tool, and all else is read as before."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from merrow_analysis.check import Analysis
from merrow_analysis.difference import line_edits
from merrow_analysis.edits.front_entries import add_entry
from merrow_analysis.edits.lines import indentation, insert_lines_after
from merrow_analysis.edits.yaml_write import quoted
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.graph.plain_steps import is_played, is_step
from merrow_analysis.ide.actions.actions import BIND, Action, Edits, possible
from merrow_analysis.ide.completion.tools import pinned_tools
from merrow_analysis.ide.cursor.selection import selection
from merrow_analysis.rules.fixes.tool_fixes import with_tools
from merrow_analysis.text import Range, edited
from merrow_analysis.tools.pins import PinnedTool

_MOST_OFFERED = 5
_MOST_TRIED = 12
_MOST_READ = 400
"""Characters of what a server says of a tool that are looked at."""
_SHORTEST_STEM = 4
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")

Read = Callable[[str], Analysis]
"""Reads a text as the document that it would become."""


def bind_to_tool(analysis: Analysis, place: Range, read: Read) -> Iterator[Action]:
    """Bind the selected step to one of the pinned tools, those of near names first. A step that says to do something outside is
    offered any tool that fits, another step only tools of near names. ``analysis`` is of the text read as a workflow.
    """
    graph, tools = analysis.typed, pinned_tools(analysis)
    if graph is None or tools is None:
        return
    nodes = [node for node in selection(analysis, place).nodes if node.resolution.plain is not None and is_step(node)]
    if len(nodes) != 1:
        return
    (node,) = nodes
    usable = (tool for tool in tools.pins.all() if tools.find(tool.full_name).problem is None)
    ranked = ((nearness(node.resolution.plain or "", tool), tool) for tool in usable)
    offered = [(near, tool) for near, tool in ranked if near > 0 or is_played(node)]
    offered.sort(key=lambda pair: (-pair[0], pair[1].full_name))
    actions = (
        action
        for _, tool in offered[:_MOST_TRIED]
        for action in possible(f"Bind to the tool {tool.full_name}", BIND, _edits(analysis, graph, node, tool, read))
    )
    yield from islice(actions, _MOST_OFFERED)


def nearness(text: str, tool: PinnedTool) -> int:
    """How near a step's text is to a tool: words of the tool's name count most, then its server's, then those that are said of
    it. 0 where only what is said of it is near.
    """
    words = _words(text)
    named = 8 * _shared(words, _words(tool.name)) + 4 * _shared(words, _words(tool.server))
    return named + _shared(words, _words(f"{tool.title} {tool.description[:_MOST_READ]}")) if named else 0


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text[:_MOST_READ]) if len(word) > 2}


def _shared(words: set[str], others: set[str]) -> int:
    return sum(any(_alike(word, other) for other in others) for word in words)


def _alike(one: str, other: str) -> bool:
    """Whether two words are the same but for their endings, as far as their beginnings tell."""
    short, long = sorted((one, other), key=len)
    return short == long or (len(short) >= _SHORTEST_STEM and long.startswith(short) and len(long) - len(short) <= 3)


def _edits(analysis: Analysis, graph: TypedGraph, node: TypedNode, tool: PinnedTool, read: Read) -> Edits | None:
    """What binds the step; None where the file would have new errors, or be read otherwise."""
    before = _text(analysis)
    block = graph.flow.last_block
    if block is None:
        return None
    indent = indentation(node.flow.mentions[0].block)
    line = f"{node.id}@{{ op: Tool, tool: {quoted(tool.full_name, in_statement=True)} }}"
    bound = edited(before, [insert_lines_after(block, [f"{indent}{line}"])])
    for text in _declared(analysis, bound, tool.full_name, read, drawn=graph.core.reading.drawn):
        after = read(text)
        if _is_bound(after, node.id) and _adds_no_error(analysis, after) and _reads_the_same(graph, after, node.id):
            return tuple(line_edits(before, text))
    return None


def _declared(analysis: Analysis, text: str, tool: str, read: Read, *, drawn: bool) -> Iterable[str]:
    """The text with the tool among those that the workflow may use; where the file was only a drawing (``drawn``), also as one
    that says that its arrows are read as a drawing's.
    """
    listed = analysis.settings.tools
    if tool not in listed:
        edit = with_tools(analysis.diagram.front_matter, analysis.settings, [*listed, tool])
        if edit is None:
            return
        text = edited(text, [edit])
    yield text
    if drawn:
        edit = add_entry(read(text).diagram.front_matter, None, "drawn", value=True)
        if edit is not None:
            yield edited(text, [edit])


def _is_bound(after: Analysis, name: str) -> bool:
    node = None if after.typed is None else after.typed.by_id.get(name)
    return node is not None and node.spec is not None and node.spec.is_tool


def _adds_no_error(before: Analysis, after: Analysis) -> bool:
    known, new = (Counter(error.code for error in analysis.errors) for analysis in (before, after))
    return new <= known


def _reads_the_same(graph: TypedGraph, after: Analysis, bound: str) -> bool:
    """Whether all but one node is what it was, and so are the arrows and loops between all."""
    return after.typed is not None and _reading(graph, bound) == _reading(after.typed, bound)


def _reading(graph: TypedGraph, bound: str) -> object:
    nodes = {node.id: (node.kind, node.spec.name if node.spec else None) for node in graph.nodes if node.id != bound}
    edges = Counter((edge.source.id, edge.target.id, edge.case) for edge in graph.edges)
    loops = {box.id: frozenset(graph.composites.members(box.id)) for box in graph.composites}
    again = Counter((edge.source.id, edge.target.id) for edge in graph.again)
    return nodes, edges, loops, again


def _text(analysis: Analysis) -> str:
    return "".join(block.text for block in analysis.diagram.blocks)
