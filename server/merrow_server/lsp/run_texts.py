"""What a node's last result is shown as: in its hover, and as a hint behind it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from lsprotocol import types

from merrow_analysis.ide.cursor import lookup
from merrow_analysis.ide.texts import markup
from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.work.run_results import NodeResult

if TYPE_CHECKING:
    from merrow_analysis.text import Position, Range
    from merrow_server.lsp.located import Located
    from merrow_server.lsp.server import MerrowServer

SHOW_NODE = "merrow.showNode"
"""The command of clients that show runs: all of a node's result."""
_LINES = 6
_HINT = 40
"""Characters of a result that a hint shows."""
_MARKS = {
    "running": "…",
    "waiting": "waiting:",
    "finished": "→",
    "reused": "→",
    "skipped": "skipped",
    "failed": "failed:",
}


class ResultText(NamedTuple):
    """What to add to the hover of a node, and a link to all of it, for those who can follow it."""

    text: markup.Markup
    link: str = ""


def result_text(server: MerrowServer, here: Located) -> ResultText:
    """The last result of the node at a place; nothing where there is none."""
    last = server.runs.results.of(here.diagram)
    if last is None:
        return ResultText(markup.Markup())
    named = lookup.occurrence_at(here.analysis, here.position)
    result = last.nodes.get(named.symbol.name) if named is not None and named.symbol.kind == "node" else None
    if result is None:
        return ResultText(markup.Markup())
    status = "reused from an earlier run" if result.status == "reused" else result.status
    stale = " The text has changed since." if here.diagram.text != last.text else ""
    figures = "".join(f", {figure}" for figure in result.figures)
    within = f" in {result.visit.rpartition('/')[0]}" if "/" in result.visit else ""
    text = markup.Markup().say(f"Last run: {status}{within}{figures}.{stale}")
    if result.text.strip():
        text.block(markup.shortened(result.text, _LINES))
    link = ""
    if here.supports.shows_runs:
        arguments = [{"uri": here.document.uri, "run": result.run, "node": result.visit}]
        link = f"\n\n[Show all of it](command:{SHOW_NODE}?{quote(json.dumps(arguments))})"
    return ResultText(text, link)


def result_hints(server: MerrowServer, diagram: OpenDiagram, place: Range) -> Iterator[types.InlayHint]:
    """A hint behind each node in a range that the last run came to: the start of its result, tokens, cost, time."""
    last = server.runs.results.of(diagram)
    if last is None:
        return
    for name, result in last.nodes.items():
        position = _behind(diagram, name)
        if position is None or not place.start <= position <= place.end:
            continue
        command = None
        if server.supports.shows_runs:
            arguments = [{"uri": diagram.document.uri, "run": result.run, "node": result.visit}]
            command = types.Command("Show the result", SHOW_NODE, arguments=arguments)
        tooltip = "\n".join(
            [f"{result.visit}: {', '.join([result.status, *result.figures])}", markup.shortened(result.text)]
        )
        yield types.InlayHint(
            diagram.position_to_lsp(position),
            [types.InlayHintLabelPart(_hint(result), command=command)],
            tooltip=tooltip.rstrip(),
            padding_left=True,
        )

    for name, words in last.boxes.items():
        from merrow_analysis.places.box_places import range_of

        subgraph = diagram.analysis.flow.subgraphs.get(name)
        position = None if subgraph is None else range_of(subgraph).end
        if position is not None and place.start <= position <= place.end:
            label = f"→ {words.removesuffix(' began last')}"
            yield types.InlayHint(
                diagram.position_to_lsp(position), label, tooltip=f"{name}: {words}.", padding_left=True
            )


def _hint(result: NodeResult) -> str:
    start = " ".join(result.text.split())
    if len(start) > _HINT:
        start = f"{start[: _HINT - 1].rstrip()}…"
    mark = _MARKS[result.status]
    words = mark if result.status in ("running", "skipped") else f"{mark} {start}".rstrip()
    return " · ".join([words, *result.figures])


def _behind(diagram: OpenDiagram, name: str) -> Position | None:
    """Where a node's declaration ends."""
    node = diagram.analysis.flow.nodes.get(name)
    if node is None or not node.mentions:
        return None
    mention = next((candidate for candidate in node.mentions if candidate.declares), node.mentions[0])
    vertex = mention.vertex
    return mention.block.position(vertex.metadata.span[1] if vertex.metadata is not None else vertex.span[1])
