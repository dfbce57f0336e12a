"""LangGraph's drawings of its graphs (``draw_mermaid()``) written again as plain steps.

LangGraph draws a node as a box, and the ways that a function chooses between as dotted arrows out of that box. In Merrow a box
is a step and a diamond chooses, so the dotted arrows of a box start at a diamond of their own behind it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from merrow_analysis.check import analyse
from merrow_analysis.definitions.labels.step_text import step_text
from merrow_analysis.fresh_ids import FreshIds
from merrow_analysis.graph.flow import Flowchart, FlowEdge, FlowNode

START, END = "__start__", "__end__"
_MARKUP_BELOW = re.compile(r"<hr\b.*", re.IGNORECASE | re.DOTALL)
_STOP = re.compile(r"__interrupt\s*=\s*(before|after)(?:\s*,\s*(before|after))?")
_LABEL_ESCAPES = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;", "\n": "<br/>"}


def is_langgraph(flow: Flowchart) -> bool:
    """Whether a flowchart has the beginning or the end that LangGraph draws."""
    return START in flow.chart.nodes or END in flow.chart.nodes


def plain_steps(flow: Flowchart) -> str:
    """The text of a workflow of plain steps that says what a drawing of LangGraph says.

    Results that would arrive at the end side by side are put together by a step of their own. Styles and the directives of the
    drawing are left out. The workflow may still have errors where Merrow knows no such graph.
    """
    drawn = ["".join(f"{line}\n" for line in _lines(flow, _PlainIds(flow), joined=joined)) for joined in (False, True)]
    return next((text for text in drawn if analyse(text).is_valid), drawn[0])


def notes(flow: Flowchart) -> list[str]:
    """Sentences on what a drawing of LangGraph says and the workflow made of it does not do."""
    sentences: list[str] = []
    for node in flow.nodes.values():
        stop = None if node.label is None else _STOP.search(node.label.text)
        if stop is not None:
            when = " and ".join(dict.fromkeys(word for word in stop.groups() if word))
            sentences.append(f"LangGraph stops {when} {_said(node)} for a person; the workflow does not.")
    return sentences


class _PlainIds:
    """An id that Merrow and Mermaid read as a plain one for each node and subgraph, and further ones."""

    def __init__(self, flow: Flowchart) -> None:
        self._ids = FreshIds()
        self._known: dict[str, str] = {}
        for name in (*flow.chart.nodes, *flow.subgraphs):
            if name not in self._known:
                self._known[name] = self.new({START: "Start", END: "End"}.get(name, name))

    def __getitem__(self, name: str) -> str:
        return self._known[name]

    def new(self, wanted: str) -> str:
        """An id like ``wanted`` that nothing else has."""
        return self._ids.new(wanted)


def _lines(flow: Flowchart, names: _PlainIds, *, joined: bool) -> Iterator[str]:
    yield from ("---", "workflow: true", "---", "flowchart TD")
    choosing = {name: names.new(f"{names[name]}_next") for name in flow.chart.nodes if _choices(flow.nodes[name])}
    boxed = _innermost(flow)
    opened: list[str] = []
    for name in sorted(flow.chart.nodes, key=lambda inner: _path(flow, boxed.get(inner))):
        if name in flow.subgraphs:
            continue
        path = _path(flow, boxed.get(name))
        while opened != path[: len(opened)]:
            opened.pop()
            yield f"{'    ' * (len(opened) + 1)}end"
        for box in path[len(opened) :]:
            yield f'{"    " * (len(opened) + 1)}subgraph {names[box]}["{_escaped(flow.subgraphs[box].title)}"]'
            opened.append(box)
        indent = "    " * (len(opened) + 1)
        yield f"{indent}{names[name]}{_shape(name, flow.nodes[name])}"
        if name in choosing:
            after = "first" if name == START else f"after {_said(flow.nodes[name])}"
            yield f'{indent}{choosing[name]}{{"Which way {_escaped(after)}?"}}'
    while opened:
        opened.pop()
        yield f"{'    ' * (len(opened) + 1)}end"
    join = names.new("together") if joined else None
    if join is not None:
        yield f'    {join}["Put the results together"]'
        yield f"    {join} --> {names[END]}"
    fed: set[str] = set()
    for edge in flow.edges:
        diamond = choosing.get(edge.source.id)
        if diamond is not None and diamond not in fed and edge.arrow.stroke == "dotted":
            fed.add(diamond)
            yield f"    {names[edge.source.id]} --> {diamond}"
        yield "    " + _edge(edge, names, choosing, join)


def _choices(node: FlowNode) -> list[FlowEdge]:
    """The dotted arrows out of a node, where there are several: the ways that LangGraph chooses between."""
    dotted = [edge for edge in node.outgoing if edge.arrow.stroke == "dotted"]
    return dotted if len(dotted) > 1 else []


def _edge(edge: FlowEdge, names: _PlainIds, choosing: dict[str, str], join: str | None) -> str:
    source, target = names[edge.source.id], names[edge.target.id]
    if join is not None and edge.target.id == END:
        target = join
    choices = _choices(edge.source)
    if edge not in choices:
        return f"{source} --> {target}"
    words = [_case(choice) for choice in choices]
    case = _case(edge)
    if Counter(words)[case] > 1:
        case = f"{case} ({_said(edge.target)})"
    return f'{choosing[edge.source.id]} -->|"{_escaped(case)}"| {target}'


def _case(edge: FlowEdge) -> str:
    """What an arrow says, on one line; without a label, what it leads to."""
    label = edge.arrow.label
    text = "" if label is None else " ".join(step_text(label.text).split())
    return text or _said(edge.target)


def _said(node: FlowNode) -> str:
    """What a node is called, in words."""
    if node.id in (START, END):
        return node.id.strip("_")
    label = node.id if node.label is None else _MARKUP_BELOW.sub("", node.label.text)
    return " ".join(step_text(label).replace("_", " ").split()) or node.id


def _shape(name: str, node: FlowNode) -> str:
    if name in (START, END):
        return f"([{'Start' if name == START else 'End'}])"
    return f'["{_escaped(_said(node))}"]'


def _escaped(text: str) -> str:
    return "".join(_LABEL_ESCAPES.get(letter, letter) for letter in text)


def _innermost(flow: Flowchart) -> dict[str, str]:
    """The innermost subgraph of each node that is in one."""
    box_of: dict[str, str] = {}
    for box in sorted(flow.subgraphs.values(), key=lambda subgraph: len(subgraph.nodes), reverse=True):
        box_of.update(dict.fromkeys(box.nodes, box.id))
    return box_of


def _path(flow: Flowchart, box: str | None) -> list[str]:
    """The subgraphs around a place, from outside."""
    path: list[str] = []
    while box is not None:
        path.append(box)
        box = flow.subgraphs[box].parent
    return path[::-1]
